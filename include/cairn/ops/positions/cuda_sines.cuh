// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The sines of positions, in double and within 1e-15 of those of a cpu for a few positions: at position t an error of the
// frequency counts t times. CUDA's own functions keep numbers in local memory for the sake of angles above 1e5, and those here
// need none: an angle loses whole quarter turns by two exact steps, and the rest is a Taylor series.
struct sines_of_position {
  double sine, cosine;
};
CAIRN_DEVICE inline sines_of_position sines_of(double angle) {
  constexpr double quarters = 0.63661977236758134, high = 1.5707963267948966, low = 6.123233995736766e-17; // 2 / pi, pi / 2
  const double turns = std::rint(angle * quarters);
  const double r = std::fma(-turns, low, std::fma(-turns, high, angle)), square = r * r;
  double sine = 1, cosine = 1;
  CAIRN_UNROLL_DEVICE
  for (int k = 18; k > 0; k -= 2) {
    sine = 1 - square * (1.0 / (k * (k + 1))) * sine;
    cosine = 1 - square * (1.0 / (k * (k - 1))) * cosine;
  }
  sine *= r;
  const auto quadrant = static_cast<std::int64_t>(turns) & 3;
  const double first = quadrant % 2 == 0 ? sine : cosine, second = quadrant % 2 == 0 ? cosine : sine;
  return {quadrant < 2 ? first : -first, quadrant == 0 || quadrant == 3 ? second : -second};
}

// base^(-2 i / columns) for i < columns / 2 and a base above 1. Its logarithm is the sum of two doubles.
class position_frequencies {
public:
  position_frequencies(double base, std::size_t columns) : columns_(static_cast<double>(columns)) {
    const long double exact = std::log2(static_cast<long double>(base));
    high_ = static_cast<double>(exact);
    low_ = static_cast<double>(exact - static_cast<long double>(high_));
  }
  CAIRN_DEVICE double of(std::size_t i) const {
    const double power = -2 * static_cast<double>(i) / columns_, product = power * high_;
    const double whole = std::rint(product);
    const double x = (product - whole + (std::fma(power, high_, -product) + power * low_)) * 0.69314718055994531; // ln 2
    double found = 1;
    CAIRN_UNROLL_DEVICE
    for (int k = 15; k > 0; --k) found = 1 + x * (1.0 / k) * found;
    return found * __builtin_bit_cast(double, static_cast<std::uint64_t>(static_cast<std::int64_t>(whole) + 1023) << 52);
  }

private:
  double columns_, high_, low_;
};

// The number of samples for which a thread uses the sines that it has found: 1, or more where there are many.
inline std::size_t samples_of_sines(std::size_t samples, std::size_t sines) {
  constexpr std::size_t threads = std::size_t{1} << 17; // enough for any GPU
  return std::max<std::size_t>(1, samples * sines / threads);
}

} // namespace cairn::detail
