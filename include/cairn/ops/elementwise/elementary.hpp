// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/blend.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Elementary functions that a compiler can turn into vector code: no branch, no call, no table. The float versions are
// polynomials fitted for the smallest maximum of the relative error. The double versions call the standard library, as double is
// there to check gradients and not for speed. All of them give NaN for NaN. Compiler builtins replace functions of the standard
// library that would be calls in a program that is not optimised.

[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float absolute(float x) { return __builtin_fabsf(x); }
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline double absolute(double x) { return __builtin_fabs(x); }

// The highest coefficient comes last: c0 + x (c1 + x (c2 + ...)).
template <class... C>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float polynomial(float x, float c0, C... c) {
  if constexpr (sizeof...(C) == 0) return c0;
  else return c0 + x * polynomial(x, c...);
}

// 2^n for -126 <= n <= 127.
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float power_of_two(std::int32_t n) {
  return __builtin_bit_cast(float, (static_cast<std::uint32_t>(n) + 127U) << 23);
}

// e^x, within 2 units in the last place; 0 below -104 and infinity above 88.73, as rounding gives.
//
// x = k ln 2 + r with |r| <= ln(2) / 2, so e^x = 2^k (1 + r + r^2 P(r)). Adding 1.5 * 2^23 rounds to an integer and leaves it in
// the low bits. k ln 2 is subtracted in two parts, the first of which is exact. 2^k is applied in two steps, as 2^128 is no float
// and 2^-149 is not normal.
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float exponential(float x) {
  constexpr float shift = 0x1.8p23F;
  const float limited = blend(x < -104.0F, -104.0F, blend(x > 89.0F, 89.0F, x));
  const float shifted = limited * 1.44269504F + shift;
  const float k = shifted - shift;
  const float r = (limited - k * 0.693359375F) + k * 2.12194440e-4F;
  const float p = polynomial(r, 0.5F, 0.166665733F, 0.0416663624F, 0.00836377591F, 0.00139421667F);
  const std::int32_t exponent = __builtin_bit_cast(std::int32_t, shifted) - __builtin_bit_cast(std::int32_t, shift);
  const std::int32_t half = exponent >> 1;
  return (1.0F + (r + r * r * p)) * power_of_two(half) * power_of_two(exponent - half);
}
CAIRN_HOST_DEVICE inline double exponential(double x) { return std::exp(x); }

// e^x for x <= 0, and 0 where that is below the least normal number, or x is minus infinity: numbers that are not normal take a
// processor a hundred times as long.
template <class T>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline T exponential_or_zero(T x) {
  constexpr T least = sizeof(T) == 4 ? T(-87) : T(-708);
  const T found = exponential(blend(x < least, T{0}, x));
  return blend(x < least, T{0}, found);
}

// e^x - 1 for x <= 88, within 2e-7 relative; -1 below -25, as rounding gives. It is made like e^x, with the 1 kept apart, so that
// nothing cancels: 2^k (r + r^2 P(r)) + (2^k - 1).
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float exponential_minus_one(float x) {
  constexpr float shift = 0x1.8p23F;
  const float limited = blend(x < -25.0F, -25.0F, blend(x > 88.0F, 88.0F, x));
  const float shifted = limited * 1.44269504F + shift;
  const float k = shifted - shift;
  const float r = (limited - k * 0.693359375F) + k * 2.12194440e-4F;
  const float p = polynomial(r, 0.5F, 0.166665733F, 0.0416663624F, 0.00836377591F, 0.00139421667F);
  const float power = power_of_two(__builtin_bit_cast(std::int32_t, shifted) - __builtin_bit_cast(std::int32_t, shift));
  return power * (r + r * r * p) + (power - 1.0F);
}
CAIRN_HOST_DEVICE inline double exponential_minus_one(double x) { return std::expm1(x); }

// The square root of x >= 0, within 1 unit in the last place; for x < 0 the result is unspecified. std::sqrt sets errno, so it
// makes no vector code without -fno-math-errno.
//
// Newton's iteration for 1 / sqrt x begins with a guess made by halving the exponent; the errors are 3e-2, 2e-3, 5e-6. A step for
// x times it squares the error once more and corrects the rounding of that product. Numbers below 2^-100 are multiplied by 2^48
// and their root by 2^-24, both exactly: a number that is not normal has no exponent to halve, and the difference in the last
// step has to be normal too.
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float square_root(float given) {
  constexpr std::uint32_t one = 127U << 23;
  const std::uint32_t small = 0U - static_cast<std::uint32_t>(given < 0x1p-100F);
  const float x = given * __builtin_bit_cast(float, one + (small & 48U << 23));
  float inverse = __builtin_bit_cast(float, 0x5F375A86U - (__builtin_bit_cast(std::uint32_t, x) >> 1));
  for (int i = 0; i < 2; ++i) inverse *= 1.5F - 0.5F * x * inverse * inverse;
  const float root = x * inverse;
  const float better = (root + 0.5F * inverse * (x - root * root)) * __builtin_bit_cast(float, one - (small & 24U << 23));
  return blend(x > 0x1.FFFFFEp127F, x, better);
}
CAIRN_HOST_DEVICE inline double square_root(double x) { return std::sqrt(x); }

// tanh x, within 4e-7 relative: for |x| < 0.625 an odd polynomial, else 1 - 2 / (e^2|x| + 1) with the sign of
// x.
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float hyperbolic_tangent(float x) {
  const float size = absolute(x);
  const float square = x * x;
  const float p = polynomial(square, -0.333333284F, 0.133327931F, -0.05385378F, 0.0210086871F, -0.00611114316F);
  const float inner = size + size * (square * p);
  const float outer = 1.0F - 2.0F / (exponential(2.0F * size) + 1.0F);
  return __builtin_copysignf(blend(size < 0.625F, inner, outer), x);
}
CAIRN_HOST_DEVICE inline double hyperbolic_tangent(double x) { return std::tanh(x); }

// 1 / (1 + e^-x), within 4e-7 relative where e^-x is finite, else 0.
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float logistic(float x) { return 1.0F / (1.0F + exponential(-x)); }
CAIRN_HOST_DEVICE inline double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// log(1 + x) for 0 <= x <= 1, within 3e-7 relative: with s = x / (2 + x) it is 2 artanh s, and artanh(s) / s is a
// polynomial in s^2, which is at most 1/9.
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline float logarithm_of_one_plus(float x) {
  const float s = x / (2.0F + x);
  return 2.0F * s * polynomial(s * s, 1.0F, 0.333331585F, 0.200124547F, 0.139803007F, 0.140891671F);
}
CAIRN_HOST_DEVICE inline double logarithm_of_one_plus(double x) { return std::log1p(x); }

// The normal distribution at x: the probability below x, which is (1 + erf(x / sqrt 2)) / 2, and the density.
template <class T>
struct normal {
  T below;
  T density;
};

// With a = |x|, the tail beyond a is e^(-a^2/2) M(a), and M is a polynomial in (a - 3) / (a + 3) on [0, 14]. Unlike 1 + erf this
// has no cancellation: it is within 1e-6 relative down to x = -6, and within 1e-5 down to -13.
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline normal<float> normal_at(float x) {
  const float size = absolute(x);
  const float a = blend(size > 14.0F, 14.0F, size);
  const float bell = exponential(-0.5F * x * x);
  const float u = (a - 3.0F) / (a + 3.0F);
  const float m = polynomial(u, 0.121513948F, -0.206402615F, 0.123225033F, -0.0462132916F, 0.00613207044F, 0.00290455623F,
                             -0.00098375848F, -0.00033948489F, 0.000115543786F, 5.36718835e-05F);
  const float outside = bell * m;
  return {blend(x > 0.0F, 1.0F - outside, outside), bell * 0.398942280F};
}
CAIRN_HOST_DEVICE inline normal<double> normal_at(double x) {
  return {0.5 * std::erfc(-x * 0.70710678118654752440), std::exp(-0.5 * x * x) * 0.39894228040143267794};
}

} // namespace cairn::detail

CAIRN_KERNELS_END
