// SPDX-License-Identifier: MIT
#include <cairn/ops/adam/adam.hpp>
#include <cairn/ops/adam/cpu.hpp>

#include <cmath>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace adam_adam_tests {

using namespace cairn;

namespace {

template <class T>
constexpr ops::adam_coefficients<T> coefficients{T(0.5), T(0.9),  T(0.1),  T(0.99), T(0.01),
                                                 T(1.5), T(1e-8), T(0.02), T(0.1),  T(0.9)};

template <class T>
void check(double tolerance) {
  cpu device;
  const ops::adam_coefficients<T> c = coefficients<T>;
  const auto g = steps<T>(2, -3, 53);
  const auto p0 = steps<T>(-1, 1, 53), m0 = steps<T>(1, -1, 53), s0 = steps<T>(0, 1, 53);
  auto p = p0, m = m0, s = s0;
  adam(device.compute(), 53, p.data(), m.data(), s.data(), g.data(), c);
  for (std::size_t i = 0; i < 53; ++i) {
    const double shrunk = static_cast<double>(c.shrink * p0[i]);
    const double gradient = static_cast<double>(c.scale * g[i]) + static_cast<double>(c.weight_decay) * shrunk;
    const double mean = static_cast<double>(c.keep_mean * m0[i]) + static_cast<double>(c.fresh_mean) * gradient;
    const double square = static_cast<double>(c.keep_square * s0[i]) + static_cast<double>(c.fresh_square) * gradient * gradient;
    const double step =
        static_cast<double>(c.rate) * mean / (std::sqrt(square) * static_cast<double>(c.correction) + static_cast<double>(c.eps));
    CHECK(static_cast<double>(m[i]) == doctest::Approx(mean).epsilon(tolerance));
    CHECK(static_cast<double>(s[i]) == doctest::Approx(square).epsilon(tolerance));
    CHECK(static_cast<double>(p[i]) == doctest::Approx(shrunk - step).epsilon(tolerance));
  }
}

} // namespace

TEST_CASE("adam: the formula") {
  check<double>(1e-13);
  check<float>(2e-6);
}

TEST_CASE("adam: bits do not depend on how the span is cut") {
  const std::array<std::vector<float>, 4> all{steps<float>(-1, 1, 99), steps<float>(1, -1, 99), steps<float>(0, 1, 99),
                                              steps<float>(2, -3, 99)};
  CHECK(bits_ignore_cuts<3>(detail::adam_element<float>{coefficients<float>, 0.5F}, all));
}

TEST_CASE("adam: the first step is the learning rate however small the gradient, if eps is smaller still") {
  cpu device;
  ops::adam_coefficients<float> c{1, 0.9F, 0.1F, 0.999F, 0.001F, 1 / std::sqrt(0.001F), 1e-30F, 0.01F / 0.1F, 0, 1};
  for (const float gradient : {1e-10F, 1e-18F, 1e-19F, 3e-20F, 2e-20F}) { // from 1e-18 on the square is subnormal
    std::vector<float> p(5, 0.0F), m(5, 0.0F), s(5, 0.0F);
    const std::vector<float> g(5, gradient);
    adam(device.compute(), 5, p.data(), m.data(), s.data(), g.data(), c);
    // The result depends on the rounded square; only the root of it must be right.
    const double root = std::sqrt(static_cast<double>(s[0]) / 0.001);
    CHECK(static_cast<double>(p[0]) == doctest::Approx(-0.01 * static_cast<double>(gradient) / root).epsilon(1e-6));
  }
}

TEST_CASE("adam: a gradient of zeros moves nothing") {
  cpu device;
  ops::adam_coefficients<float> c = coefficients<float>;
  c.weight_decay = 0;
  c.shrink = 1;
  std::vector<float> p(5, 2.0F), m(5, 0.0F), s(5, 0.0F);
  const std::vector<float> g(5, 0.0F);
  adam(device.compute(), 5, p.data(), m.data(), s.data(), g.data(), c);
  CHECK(p == std::vector<float>(5, 2.0F));
}

} // namespace adam_adam_tests
