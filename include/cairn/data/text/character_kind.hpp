// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/rooms.hpp>
#include <cairn/data/text/unicode_tables.hpp>

namespace cairn::detail {

enum class character_kind : unsigned char { letter, number, space, other };

// The code points at which runs begin and end, in turn.
template <std::size_t N>
constexpr std::array<std::uint32_t, N> borders_of(const std::uint16_t (&runs)[N]) {
  std::array<std::uint32_t, N> borders{};
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < N; ++i) borders[i] = at += runs[i];
  return borders;
}
inline constexpr auto borders_of_letters = borders_of(runs_of_letters);
inline constexpr auto borders_of_numbers = borders_of(runs_of_numbers);

template <std::size_t N>
constexpr bool is_inside(const std::array<std::uint32_t, N>& borders, std::uint32_t code) {
  return (std::upper_bound(borders.begin(), borders.end(), code) - borders.begin()) % 2 == 1;
}

// White_Space of Unicode, which regular expressions call \s.
constexpr bool is_white_space(std::uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

constexpr character_kind kind_of(char32_t character) {
  const auto code = static_cast<std::uint32_t>(character);
  if (is_white_space(code)) return character_kind::space;
  if (code < 0x80) {
    const std::uint32_t lower = code | 0x20U;
    return lower >= 'a' && lower <= 'z' ? character_kind::letter
           : code >= '0' && code <= '9' ? character_kind::number
                                        : character_kind::other;
  }
  if (is_inside(borders_of_letters, code)) return character_kind::letter;
  return is_inside(borders_of_numbers, code) ? character_kind::number : character_kind::other;
}

} // namespace cairn::detail
