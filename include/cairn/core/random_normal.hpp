// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::ops {

// A header of its own, as <cmath> takes the compiler longer than all of core/random.hpp. The last bits depend on the machine's
// log, cos and sin.

// Fills `elements` with independent normal numbers of mean 0 and variance 1; element i depends on (key, first + i) alone. Box
// and Muller (1958): for u in (0, 1] and v in [0, 1), r = sqrt(-2 ln u), the pair r cos(2 pi v), r sin(2 pi v). Each u has 32
// bits, so no number is larger than 6.7 in magnitude.
template <class T>
void fill_normal(std::span<T> elements, const types::random_key& key, std::uint64_t first = 0) {
  constexpr double pi = 3.14159265358979323846;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t index = first + i;
    if (i != 0 && index % 2 != 0) continue; // written with its pair
    const auto block = ops::random_block(key, index / 4);
    const std::size_t half = index % 4 / 2 * 2;
    const double radius = std::sqrt(-2 * std::log((block[half] + 1.0) * 0x1p-32));
    const double angle = 2 * pi * (block[half + 1] * 0x1p-32);
    if (index % 2 == 0) elements[i] = static_cast<T>(radius * std::cos(angle));
    if (index % 2 != 0) elements[i] = static_cast<T>(radius * std::sin(angle));
    else if (i + 1 < elements.size()) elements[i + 1] = static_cast<T>(radius * std::sin(angle));
  }
}

// Element `index` of what fill_normal writes.
template <class T>
T random_normal(const types::random_key& key, std::uint64_t index) {
  T element{};
  fill_normal(std::span<T>(&element, 1), key, index);
  return element;
}

} // namespace cairn::ops

namespace cairn::detail {

// x such that a normal number is below x with probability p, for 0.01 <= p <= 0.99, within 1e-15: algorithm AS 241
// (Wichura: The percentage points of the normal distribution. Applied Statistics 37, 1988), without its far tails.
inline double normal_quantile(double p) {
  const auto polynomial = [](double x, const double(&c)[8]) {
    double sum = 0;
    for (std::size_t k = 8; k > 0; --k) sum = sum * x + c[k - 1];
    return sum;
  };
  const double distance = p - 0.5;
  if (std::fabs(distance) <= 0.425) {
    constexpr double above[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    constexpr double below[] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    const double r = 0.180625 - distance * distance;
    return distance * polynomial(r, above) / polynomial(r, below);
  }
  constexpr double above[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                              3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double below[] = {1.0,
                              2.05319162663775882187e0,
                              1.67638483018380384940e0,
                              6.89767334985100004550e-1,
                              1.48103976427480074590e-1,
                              1.51986665636164571966e-2,
                              5.47593808499534494600e-4,
                              1.05075007164441684324e-9};
  const double r = std::sqrt(-std::log(distance < 0 ? p : 1 - p)) - 1.6;
  const double size = polynomial(r, above) / polynomial(r, below);
  return distance < 0 ? -size : size;
}

} // namespace cairn::detail

namespace cairn::ops {

// Element `index` of a stream of normal numbers truncated to [-2, 2], as torch.nn.init.trunc_normal_ makes with its a = -2 and
// b = 2 for a standard deviation of 1. For another one multiply: the cut is then at two of these deviations, while torch's a
// and b are absolute.
//
// It applies the inverse of the distribution to one uniform number. Rejected: drawing until a number fits, which would not be a
// function of the index.
template <class T>
T random_truncated_normal(const types::random_key& key, std::uint64_t index) {
  constexpr double outside = 0.022750131948179207; // the part of the distribution below -2, and above 2
  const double uniform = (random_bits(key, index) + 0.5) * 0x1p-32;
  return static_cast<T>(detail::normal_quantile(outside + uniform * (1 - 2 * outside)));
}

} // namespace cairn::ops
