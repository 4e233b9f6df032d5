// SPDX-License-Identifier: MIT
#include <cairn/ops/sgd/cpu.hpp>
#include <cairn/ops/sgd/sgd.hpp>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace sgd_sgd_tests {

using namespace cairn;

namespace {

// The formula, element by element.
void plain(std::size_t count, double* p, double* v, const double* gradients, const ops::sgd_coefficients<double>& c) {
  for (std::size_t i = 0; i < count; ++i) {
    double g = c.scale * gradients[i] + c.weight_decay * p[i];
    if (c.momentum != 0) {
      v[i] = c.momentum * v[i] + c.fresh * g;
      g = c.nesterov ? g + c.momentum * v[i] : v[i];
    }
    p[i] -= c.learning_rate * g;
  }
}

} // namespace

TEST_CASE("sgd: the formula") {
  cpu device;
  for (const double momentum : {0.0, 0.9})
    for (const bool nesterov : {false, true}) {
      const ops::sgd_coefficients<double> c{0.5, 0.1, momentum, 0.7, 0.01, nesterov};
      auto p = steps<double>(-1, 1, 53), v = steps<double>(3, -1, 53);
      auto expected_p = p, expected_v = v;
      const auto g = steps<double>(2, -3, 53);
      sgd(device.compute(), 53, p.data(), momentum == 0 ? nullptr : v.data(), g.data(), c);
      plain(53, expected_p.data(), expected_v.data(), g.data(), c);
      for (std::size_t i = 0; i < 53; ++i) {
        CHECK(p[i] == doctest::Approx(expected_p[i]).epsilon(1e-14));
        CHECK(v[i] == doctest::Approx(expected_v[i]).epsilon(1e-14));
      }
    }
}

TEST_CASE("sgd: bits do not depend on how the span is cut") {
  const std::array<std::vector<float>, 3> all{steps<float>(-1, 1, 99), steps<float>(3, -1, 99), steps<float>(2, -3, 99)};
  const ops::sgd_coefficients<float> c{0.3F, 0.1F, 0.9F, 0.7F, 0.01F, false};
  CHECK(bits_ignore_cuts<2>(detail::sgd_momentum_element<float, false>{c, 0.3F}, all));
  CHECK(bits_ignore_cuts<2>(detail::sgd_momentum_element<float, true>{c, 0.3F}, all));
  CHECK(bits_ignore_cuts<1>(detail::sgd_element<float>{c, 0.3F}, std::array{all[0], all[2]}));
}

} // namespace sgd_sgd_tests
