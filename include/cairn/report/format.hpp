// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::report {

// Formats a number with a point and `decimals` digits after it, whatever the locale: std::snprintf would write a comma in
// some.
inline std::string format_fixed(double value, int decimals) {
  std::array<char, 64> text{};
  // 1e15 needs 16 digits, a sign, a point and the decimals; larger numbers are written with an exponent.
  const auto form = std::abs(value) < 1e15 ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, form, std::min(decimals, 30)).ptr;
  return {text.data(), end};
}

} // namespace cairn::report

namespace cairn::detail {

// Three significant digits for a value of at least 1: 1.23, 12.3, 123. Smaller values have two decimals.
inline std::string three_digits(double value) {
  const double size = std::abs(value);
  return format_fixed(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

// The units of everything that is written or drawn, each with its size; the smallest first.
struct unit {
  double size;
  const char* name;
};
inline constexpr std::array<unit, 7> byte_units{
    {{1, " B"}, {0x1p10, " KiB"}, {0x1p20, " MiB"}, {0x1p30, " GiB"}, {0x1p40, " TiB"}, {0x1p50, " PiB"}, {0x1p60, " EiB"}}};
inline constexpr std::array<unit, 4> time_units{{{1e-9, " ns"}, {1e-6, " us"}, {1e-3, " ms"}, {1, " s"}}};
inline constexpr std::array<unit, 6> count_units{{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}}};

// The largest unit that a value fills once it is rounded to three digits: 1023.6 KiB are 1.00 MiB.
inline const unit& unit_of(double value, std::span<const unit> units) {
  std::size_t i = units.size() - 1;
  while (i > 0 && std::abs(value) < 0.9995 * units[i].size) --i;
  return units[i];
}

inline std::string in_unit(double value, std::span<const unit> units) {
  const unit& u = unit_of(value, units);
  return three_digits(value / u.size) + u.name;
}

} // namespace cairn::detail

namespace cairn::report {

// Bytes in the largest binary unit that they fill: "512 B", "12.5 KiB", "3.20 MiB", "1.50 GiB".
inline std::string format_bytes(std::size_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  return detail::in_unit(static_cast<double>(bytes), detail::byte_units);
}

// Parses bytes as people type them: "4096", "800KiB", "1.5 MiB", "512 B". It reads what format_bytes writes. A fraction of a
// byte is left out. Throws input_error for anything else: KB and M have two meanings each.
inline std::size_t parse_bytes(std::string_view text) {
  const auto refuse = [&] {
    return input_error("parse_bytes: expected a number of bytes such as 4096, 800KiB or 1.5 MiB, found '" + std::string(text) +
                       "'; the units are B, KiB, MiB, GiB and TiB");
  };
  // Parsed by hand: libc++ has no std::from_chars for double before version 20. All digits make one integer, which a double
  // holds up to 2^53, and it is divided once.
  double digits = 0, divisor = 1;
  std::string_view name = text;
  const auto read_digits = [&](double each) {
    for (; !name.empty() && name.front() >= '0' && name.front() <= '9'; name.remove_prefix(1)) {
      digits = 10 * digits + (name.front() - '0');
      divisor *= each;
    }
  };
  read_digits(1);
  if (name.size() == text.size()) throw refuse();
  if (name.starts_with('.')) {
    name.remove_prefix(1);
    read_digits(10);
  }
  const double number = digits / divisor;
  if (name.starts_with(' ')) name.remove_prefix(1);
  double size = name.empty() ? 1 : 0;
  for (const detail::unit& u : detail::byte_units)
    if (name == u.name + 1) size = u.size; // without its blank
  if (size == 0 || (size == 1 && number != std::floor(number))) throw refuse();
  if (!(number * size < 0x1p63)) throw refuse();
  return static_cast<std::size_t>(number * size);
}

// Elapsed time as a clock shows it: "00:07", "12:34", "1:02:03". Not finite or negative: "?".
inline std::string format_clock(double seconds) {
  if (!(seconds >= 0) || seconds > 3.6e9) return "?";
  const auto total = static_cast<std::uint64_t>(seconds);
  const auto two = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::string tail = two(total / 60 % 60) + ":" + two(total % 60);
  return total < 3600 ? tail : std::to_string(total / 3600) + ":" + tail;
}

// A measured time in the unit that suits it: "85.0 ns", "12.3 us", "4.56 ms", "1.23 s", from two minutes on "02:05".
inline std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (std::abs(seconds) >= 119.5) return format_clock(seconds + 0.5);
  return seconds == 0 ? "0.00 s" : detail::in_unit(seconds, detail::time_units);
}

// A count or a rate, three digits and a decimal prefix: "0.25", "12.3", "4.56k", "1.20M".
inline std::string format_quantity(double count) {
  return std::isfinite(count) ? detail::in_unit(count, detail::count_units) : "?";
}

// With a comma before every third digit: "1,021".
inline std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t left = text.size(); left > 3; left -= 3) text.insert(left - 3, 1, ',');
  return text;
}

// 64 bits as 16 hexadecimal digits: two results are the same bits if and only if they print the same.
inline std::string format_checksum(std::uint64_t bits) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; bits >>= 4) text[i] = digits[bits & 15U];
  return text;
}

} // namespace cairn::report
