// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/text/utf8.hpp>

namespace cairn::detail {

// A token of GPT-2's vocab.json: its text, its number, and the byte of the file at which it begins.
struct listed_token {
  std::string text;
  std::int32_t number = 0;
  std::size_t at = 0;
};

// Reads {"token": number, ...}, JSON of strings and whole numbers without anything nested. It is read by hand, not through a JSON
// library: every error has its line and column, and texts as tokens need no other library.
class token_list {
public:
  token_list(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<listed_token> read() {
    std::vector<listed_token> tokens;
    take('{', "'{', which begins the tokens");
    do {
      skip_space();
      const std::size_t at = at_;
      take('"', "'\"', which begins a token");
      std::string token = rest_of_string();
      take(':', "':' after a token");
      tokens.push_back({std::move(token), number(), at});
      skip_space();
    } while (took(','));
    take('}', "',' or '}' after the number of a token");
    skip_space();
    if (at_ != text_.size()) fail(at_, "the end of the file after '}'");
    return tokens;
  }

  [[noreturn]] void fail(std::size_t at, const std::string& expected, const std::string& found = {}) const {
    throw file_error(name_ + ", " + place_in(text_, at) + ": expected " + expected + ", found " +
                     (!found.empty()       ? found
                      : at >= text_.size() ? std::string("the end of the file")
                                           : shown_character(text_, at)) +
                     "; a vocabulary is {\"token\": number, ...}, as GPT-2's vocab.json");
  }

private:
  bool is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool took(char c) {
    const bool there = is(c);
    at_ += there ? 1 : 0;
    return there;
  }
  void take(char c, const char* expected) {
    skip_space();
    if (!took(c)) fail(at_, expected);
  }
  void skip_space() {
    while (is(' ') || is('\n') || is('\r') || is('\t')) ++at_;
  }

  std::string rest_of_string() {
    std::string out;
    for (;;) {
      if (at_ >= text_.size()) fail(at_, "'\"', which ends a token");
      const std::size_t begin = at_;
      const utf8_character next = utf8_at(text_, at_);
      if (next.bytes == 0 || next.code < 0x20) fail(at_, "a character of a token, in UTF-8");
      at_ += next.bytes;
      if (next.code == '"') return out;
      if (next.code != '\\') out.append(text_, begin, next.bytes);
      else append_utf8(out, escaped(begin));
    }
  }
  char32_t escaped(std::size_t begin) {
    constexpr std::string_view letters = "\"\\/bfnrt", meaning = "\"\\/\b\f\n\r\t";
    const char letter = at_ < text_.size() ? text_[at_++] : '\0';
    if (letter == 'u') return unicode(begin);
    const std::size_t found = letters.find(letter);
    if (found == letters.npos) fail(begin, "one of the escapes of JSON", "'\\' and another character");
    return static_cast<char32_t>(meaning[found]);
  }
  // An escape of four hexadecimal digits, and beyond 16 bits a pair of them (surrogates).
  char32_t unicode(std::size_t begin) {
    const std::uint32_t first = four_digits(begin);
    if (first < 0xD800 || first > 0xDFFF) return static_cast<char32_t>(first);
    std::uint32_t second = 0;
    if (first < 0xDC00 && took('\\') && took('u')) second = four_digits(begin);
    if (second < 0xDC00 || second > 0xDFFF) fail(begin, "\\u and a character, or a pair of surrogates", "half a pair");
    return static_cast<char32_t>(0x10000U + ((first - 0xD800U) << 10U) + (second - 0xDC00U));
  }
  std::uint32_t four_digits(std::size_t begin) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_letter && (c < '0' || c > '9')) fail(begin, "\\u and four hexadecimal digits", "fewer");
      value = value << 4U | static_cast<std::uint32_t>(is_letter ? (c | 0x20) - 'a' + 10 : c - '0');
    }
    return value;
  }
  std::int32_t number() {
    skip_space();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - begin < 10)
      value = value * 10 + (text_[at_++] - '0');
    const bool goes_on = at_ < text_.size() && std::string_view("0123456789.eE").find(text_[at_]) != std::string_view::npos;
    if (at_ == begin || goes_on || value > 0x7FFFFFFF) fail(begin, "the number of a token, from 0 to 2147483647");
    return static_cast<std::int32_t>(value);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

} // namespace cairn::detail
