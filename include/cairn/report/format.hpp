// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <cairn/core/error.hpp>

namespace cairn {

namespace detail {

// With a point and `decimals` digits after it, whatever the locale: std::snprintf would write a comma in
// some.
inline std::string fixed(double value, int decimals) {
  std::array<char, 64> text{};
  // 1e15 needs 16 digits, a sign, a point and the decimals; what is larger is written with an exponent.
  const bool plain = std::abs(value) < 1e15;
  const auto form = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, form, std::min(decimals, 30)).ptr;
  return {text.data(), end};
}

// Three significant digits for a value of at least 1: 1.23, 12.3, 123. Smaller values have two decimals.
inline std::string three_digits(double value) {
  const double size = std::abs(value);
  return fixed(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

} // namespace detail

// Bytes in the largest binary unit that they fill: "512 B", "12.5 KiB", "3.20 MiB", "1.50 GiB".
inline std::string format_bytes(std::size_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 6> units{" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < units.size()) value /= 1024, ++unit;
  return detail::three_digits(value) + units[unit];
}

// The bytes that people type: "4096", "800KiB", "1.5 MiB", "512 B". What format_bytes writes can be read back. A fraction
// of a byte is left out. Throws cairn::error for anything else: KB or M could mean two numbers each.
inline std::size_t parse_bytes(std::string_view text) {
  const auto refuse = [&] {
    return error("parse_bytes: expected a number of bytes such as 4096, 800KiB or 1.5 MiB, found '" +
                 std::string(text) + "'; the units are B, KiB, MiB, GiB and TiB");
  };
  double number = 0;
  const char* const last = text.data() + text.size();
  // Else from_chars would read a sign, and "inf".
  if (text.empty() || text.front() < '0' || text.front() > '9') throw refuse();
  const auto [end, fault] = std::from_chars(text.data(), last, number, std::chars_format::fixed);
  if (fault != std::errc{}) throw refuse();
  std::string_view unit(end, static_cast<std::size_t>(last - end));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  constexpr int not_a_unit = -1;
  int power = not_a_unit;
  for (const auto& [name, bits] :
       {std::pair{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}})
    if (unit == name) power = bits;
  if (power == not_a_unit || (power == 0 && number != std::floor(number))) throw refuse();
  const double bytes = std::ldexp(number, power);
  if (bytes >= 0x1p63) throw refuse();
  return static_cast<std::size_t>(bytes);
}

// Elapsed time as a clock shows it: "00:07", "12:34", "1:02:03". Not finite or negative: "?".
inline std::string format_clock(double seconds) {
  if (!(seconds >= 0) || seconds > 3.6e9) return "?";
  const auto total = static_cast<std::uint64_t>(seconds);
  const auto two = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::string tail = two(total / 60 % 60) + ":" + two(total % 60);
  return total < 3600 ? tail : std::to_string(total / 3600) + ":" + tail;
}

// A measured time in the unit that suits it: "85.0 ns", "12.3 us", "4.56 ms", "1.23 s", from two minutes on
// "02:05".
inline std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  const double size = std::abs(seconds);
  if (size >= 119.5) return format_clock(seconds + 0.5);
  if (size == 0 || size >= 0.9995) return detail::three_digits(seconds) + " s";
  if (size >= 0.9995e-3) return detail::three_digits(seconds * 1e3) + " ms";
  if (size >= 0.9995e-6) return detail::three_digits(seconds * 1e6) + " us";
  return detail::three_digits(seconds * 1e9) + " ns";
}

// How many, three digits and a decimal prefix: "0.25", "12.3", "4.56k", "1.20M".
inline std::string format_quantity(double count) {
  if (!std::isfinite(count)) return "?";
  constexpr std::array<const char*, 6> prefixes{"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (std::abs(count) >= 999.5 && prefix + 1 < prefixes.size()) count /= 1000, ++prefix;
  return detail::three_digits(count) + prefixes[prefix];
}

// So many a second.
inline std::string format_rate(double per_second) { return format_quantity(per_second); }

// With a comma before every third digit: "1,021".
inline std::string format_count(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// 64 bits as 16 hexadecimal digits: two results are the same bits if and only if they print the same.
inline std::string format_checksum(std::uint64_t bits) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; bits >>= 4) text[i] = digits[bits & 15U];
  return text;
}

} // namespace cairn
