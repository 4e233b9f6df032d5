// SPDX-License-Identifier: MIT
// Checks for every 16-bit floating-point type, whatever its format.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include <doctest/doctest.h>

#include <cairn/core/accumulated.hpp>

// Converts all 65536 patterns to float and double and back. Returns how many change. `quiet` is the bit that makes a NaN quiet.
template <class T>
std::size_t patterns_that_change(std::uint16_t quiet) {
  std::size_t wrong = 0;
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const T x = T::from_bits(static_cast<std::uint16_t>(b));
    const auto f = static_cast<float>(x);
    const auto d = static_cast<double>(x);
    const std::uint16_t expected = std::isnan(f) ? static_cast<std::uint16_t>(b | quiet) : static_cast<std::uint16_t>(b);
    const bool same = std::isnan(f) ? std::isnan(d) && !(x == x) : static_cast<double>(f) == d && x == x;
    if (!same || T(f).bits != expected || T(d).bits != expected) ++wrong;
  }
  return wrong;
}

// Returns how many roundings from Wide are wrong. The midpoint of two neighbours is rounded to the even one, all other numbers
// to the nearer one. Rounding keeps the order, so the midpoint and its two neighbours in Wide decide for all numbers between.
// `infinity` is the pattern of infinity: it takes the place of the number that would follow the largest one.
template <class T, class Wide>
std::size_t wrong_roundings(std::uint16_t infinity) {
  std::size_t wrong = 0;
  const auto number = [infinity](std::uint32_t b) {
    const auto value = [](std::uint32_t bits) { return static_cast<double>(T::from_bits(static_cast<std::uint16_t>(bits))); };
    return b == infinity ? 2 * value(b - 1) - value(b - 2) : value(b);
  };
  constexpr Wide most = std::numeric_limits<Wide>::infinity();
  for (std::uint32_t b = 0; b < infinity; ++b)
    for (const int sign : {1, -1}) {
      const auto up = static_cast<std::uint16_t>(b + 1 + (sign < 0 ? 0x8000U : 0U)), down = static_cast<std::uint16_t>(up - 1);
      const double exact = sign * (number(b) + number(b + 1)) / 2; // both have few bits, so the mean is exact
      const auto middle = static_cast<Wide>(exact);
      if (static_cast<double>(middle) != exact) ++wrong;
      if (T(middle).bits != (b % 2 == 0 ? down : up)) ++wrong;
      if (T(std::nextafter(middle, sign < 0 ? -most : most)).bits != up || T(std::nextafter(middle, Wide{0})).bits != down)
        ++wrong;
    }
  return wrong;
}

template <class T>
void check_type_of_16_bits() {
  static_assert(sizeof(T) == 2 && std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);
  static_assert(std::is_same_v<cairn::accumulated<T>, float> && cairn::detail::narrow_element<T>);
  static_assert(!std::is_convertible_v<float, T> && !std::is_convertible_v<T, float>); // conversions are explicit
  static_assert(T{}.bits == 0 && static_cast<float>(T(-1.5F)) == -1.5F && T(0.0F) == T(-0.0F));
  constexpr double huge = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min();
  CHECK(static_cast<double>(T(huge)) == std::numeric_limits<double>::infinity());
  CHECK(static_cast<double>(T(-huge)) == -std::numeric_limits<double>::infinity());
  CHECK((T(tiny).bits == 0 && T(-tiny).bits == 0x8000));
}
