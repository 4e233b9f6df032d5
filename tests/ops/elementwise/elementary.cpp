// SPDX-License-Identifier: MIT
#include <cairn/ops/elementwise/elementary.hpp>

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "shifted_cuts.hpp"

namespace elementwise_elementary_tests {

using namespace cairn;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

#define CAIRN_TEST_FUNCTION(name, value)                                                                                         \
  struct name {                                                                                                                  \
    [[gnu::always_inline]] inline void operator()(float& x) const { x = value; }                                                 \
  };
CAIRN_TEST_FUNCTION(exponential, detail::exponential(x))
CAIRN_TEST_FUNCTION(exponential_minus_one, detail::exponential_minus_one(x))
CAIRN_TEST_FUNCTION(square_root, detail::square_root(x))
CAIRN_TEST_FUNCTION(hyperbolic_tangent, detail::hyperbolic_tangent(x))
CAIRN_TEST_FUNCTION(logistic, detail::logistic(x))
CAIRN_TEST_FUNCTION(logarithm_of_one_plus, detail::logarithm_of_one_plus(x))
CAIRN_TEST_FUNCTION(below, detail::normal_at(x).below)
CAIRN_TEST_FUNCTION(density, detail::normal_at(x).density)
#undef CAIRN_TEST_FUNCTION

template <class F>
bool bits_stay(const F& f, double low, double high) {
  return bits_ignore_cuts<1>(f, std::array{steps<float>(low, high, 999)});
}

} // namespace

// The bounds are those in the header's comments; 1.2e-7 is a unit in the last place.
TEST_CASE("elementary: error bounds on every instruction set") {
  CHECK(largest_error(exponential{}, -87, 88.7, [](double x) { return std::exp(x); }) < 2.4e-7);
  for (const double size : {1e-30, 1e-3, 0.4, 30.0})
    CHECK(largest_error(exponential_minus_one{}, -size, size, [](double x) { return std::expm1(x); }) < 2e-7);
  CHECK(largest_error(square_root{}, 1e-30, 1e-28, [](double x) { return std::sqrt(x); }) < 1.2e-7);
  CHECK(largest_error(square_root{}, 0, 10, [](double x) { return std::sqrt(x); }) < 1.2e-7);
  CHECK(largest_error(square_root{}, 0, 3e38, [](double x) { return std::sqrt(x); }) < 1.2e-7);
  CHECK(largest_error(hyperbolic_tangent{}, -10, 10, [](double x) { return std::tanh(x); }) < 4e-7);
  CHECK(largest_error(hyperbolic_tangent{}, -1e-3, 1e-3, [](double x) { return std::tanh(x); }) < 4e-7);
  CHECK(largest_error(logistic{}, -87, 30, [](double x) { return 1 / (1 + std::exp(-x)); }) < 4e-7);
  CHECK(largest_error(logarithm_of_one_plus{}, 0, 1, [](double x) { return std::log1p(x); }) < 3e-7);
  const auto exact = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  CHECK(largest_error(below{}, -5, 8, exact) < 1e-6);
  CHECK(largest_error(below{}, -13, -5, exact) < 1e-5);
  CHECK(largest_error(density{}, -5, 5, [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }) < 1e-6);
}

// Linear steps reach few of the exponents below 1e-30.
TEST_CASE("elementary: the square root of every exponent, down to the smallest number") {
  const auto exact = [](double x) { return std::sqrt(x); };
  for (int exponent = -149; exponent < 128; ++exponent)
    CHECK(largest_error(square_root{}, std::ldexp(1.0, exponent), std::ldexp(1.9999, exponent), exact, 999) < 1.2e-7);
  CHECK(detail::square_root(0x1p-149F) == std::sqrt(0x1p-149F));
}

TEST_CASE("elementary: bits do not depend on where an element lies") {
  CHECK(bits_stay(exponential{}, -110, 90));
  CHECK(bits_stay(exponential_minus_one{}, -30, 5));
  CHECK(bits_stay(square_root{}, 0, 5));
  CHECK(bits_stay(hyperbolic_tangent{}, -5, 5));
  CHECK(bits_stay(logistic{}, -90, 90));
  CHECK(bits_stay(logarithm_of_one_plus{}, 0, 1));
  CHECK(bits_stay(below{}, -14, 14));
  CHECK(bits_stay(density{}, -14, 14));
}

TEST_CASE("elementary: exponentials that end in zero before they are too small to be normal") {
  for (const float x : {0.0F, -1.0F, -86.9F}) CHECK(detail::exponential_or_zero(x) == detail::exponential(x));
  CHECK(detail::exponential_or_zero(-86.9F) > 0x1p-126F);
  for (const float x : {-87.1F, -1e30F, -infinity}) CHECK(detail::exponential_or_zero(x) == 0);
  for (const double x : {-708.1, -1e300}) CHECK(detail::exponential_or_zero(x) == 0);
  CHECK(std::isnan(detail::exponential_or_zero(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("elementary: the ends of the range, and no number") {
  CHECK(detail::exponential(0.0F) == 1.0F);
  CHECK(detail::exponential(infinity) == infinity);
  CHECK(detail::exponential(-infinity) == 0.0F);
  CHECK(detail::exponential(88.8F) == infinity);
  CHECK(detail::exponential(-103.0F) == std::exp(-103.0F)); // the result is subnormal
  CHECK(std::isnan(detail::exponential(NAN)));
  CHECK(detail::exponential_minus_one(0.0F) == 0.0F);
  CHECK(detail::exponential_minus_one(-infinity) == -1.0F);
  CHECK(std::isnan(detail::exponential_minus_one(NAN)));
  CHECK(detail::square_root(0.0F) == 0.0F);
  CHECK(detail::square_root(infinity) == infinity);
  CHECK(detail::hyperbolic_tangent(infinity) == 1.0F);
  CHECK(detail::hyperbolic_tangent(-infinity) == -1.0F);
  CHECK(std::isnan(detail::hyperbolic_tangent(NAN)));
  CHECK(detail::logistic(infinity) == 1.0F);
  CHECK(detail::logistic(-infinity) == 0.0F);
  CHECK(detail::normal_at(infinity).below == 1.0F);
  CHECK(detail::normal_at(-infinity).below == 0.0F);
  CHECK(std::isnan(detail::normal_at(NAN).below));
}

} // namespace elementwise_elementary_tests
