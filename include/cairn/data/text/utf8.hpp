// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <cairn/core/rooms.hpp>

namespace cairn::detail {

// A character of a text: its code point, and how many bytes it takes; 0 bytes if there is no UTF-8.
struct utf8_character {
  char32_t code = 0;
  std::size_t bytes = 0;
};

// The character that begins at a byte of the text, which has at least one there (RFC 3629: shortest forms only, no surrogates).
constexpr utf8_character utf8_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at), second = byte(at + 1);
  if (first < 0x80) return {static_cast<char32_t>(first), 1};
  const std::size_t bytes = first >= 0xC2 && first <= 0xDF   ? 2U
                            : (first & 0xF0U) == 0xE0U       ? 3U
                            : first >= 0xF0 && first <= 0xF4 ? 4U
                                                             : 0U;
  const unsigned least = first == 0xE0 ? 0xA0U : first == 0xF0 ? 0x90U : 0x80U;
  const unsigned most = first == 0xED ? 0x9FU : first == 0xF4 ? 0x8FU : 0xBFU;
  if (bytes == 0 || second < least || second > most) return {};
  std::uint32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(at + i) & 0x3FU);
  }
  return {static_cast<char32_t>(code), bytes};
}

// The index of the first byte that is not UTF-8; the size if there is none.
constexpr std::size_t first_that_is_no_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = utf8_at(text, at).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return at;
}

// Appends a character, which is a code point of Unicode.
inline void append_utf8(std::string& out, char32_t character) {
  const auto code = static_cast<std::uint32_t>(character);
  const auto more = [&](unsigned shift) { out += static_cast<char>(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | code >> 6U);
    more(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | code >> 12U);
    more(6), more(0);
  } else {
    out += static_cast<char>(0xF0U | code >> 18U);
    more(12), more(6), more(0);
  }
}

// The beginning of a text from a file, as an error shows it: at most 100 bytes.
inline std::string beginning_of(std::string_view text) {
  std::size_t size = std::min<std::size_t>(text.size(), 100);
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  return std::string(text.substr(0, size)) + (size < text.size() ? "..." : "");
}

// A number in hexadecimal, of at least so many digits, in upper case.
inline std::string hexadecimal(std::uint32_t number, std::size_t digits) {
  std::string out;
  for (; number != 0 || out.size() < digits; number >>= 4U) out.insert(out.begin(), "0123456789ABCDEF"[number & 15U]);
  return out;
}

// What stands at a byte of the text, as an error shows it: 'A' (U+0041), U+000A, or the byte 0xFF, which is no UTF-8.
inline std::string shown_character(std::string_view text, std::size_t at) {
  const utf8_character found = utf8_at(text, at);
  if (found.bytes == 0) return "the byte 0x" + hexadecimal(static_cast<unsigned char>(text[at]), 2) + ", which is no UTF-8";
  const std::string code = "U+" + hexadecimal(static_cast<std::uint32_t>(found.code), 4);
  const bool is_visible = found.code > U' ' && (found.code < 0x7F || found.code > 0xA0);
  return is_visible ? "'" + std::string(text.substr(at, found.bytes)) + "' (" + code + ")" : code;
}

// A place in a text: "byte 17 (line 2, column 3)". Bytes count from 0, lines and columns from 1; a column is a character.
inline std::string place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::string_view own = before.substr(line == 0 ? 0 : before.rfind('\n') + 1);
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  const auto column = std::count_if(own.begin(), own.end(), begins);
  return "byte " + std::to_string(at) + " (line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ")";
}

} // namespace cairn::detail
