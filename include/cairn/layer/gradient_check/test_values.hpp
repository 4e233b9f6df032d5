// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cairn/core/random.hpp>

// The elements that a layer is checked with.
namespace cairn::detail {

// Number `index` of a stream. A real one has either sign and a size of 0.1 … 1: far enough from a kink at 0 for a
// difference quotient. An integer is 0, 1 or 2.
template <class T>
T some_number(std::uint32_t stream, std::size_t index) {
  const random_key key{.seed = 7, .step = 0, .position = stream};
  if constexpr (std::is_integral_v<T>) return static_cast<T>(random_bits(key, index) % 3);
  else {
    const double u = 2 * random_uniform<double>(key, index) - 1;
    return static_cast<T>(std::copysign(0.1 + 0.9 * std::fabs(u), u));
  }
}

// The value of an element before it is written: a NaN, or the least integer.
template <class T>
constexpr T unwritten() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
  else return std::numeric_limits<T>::quiet_NaN();
}
template <class T>
constexpr bool is_unwritten(T value) {
  if constexpr (std::is_integral_v<T>) return value == unwritten<T>();
  else return !(value == value);
}

} // namespace cairn::detail
