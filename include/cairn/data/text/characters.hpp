// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/text/check_tokens.hpp>
#include <cairn/data/text/utf8.hpp>

namespace cairn::text {

// The characters of a text as tokens, in the order of their code points: Python's sorted(set(text)).
//
//   const text::characters letters{text::read_text("input.txt")};
//   const std::vector<std::int32_t> tokens = letters.encode("To be");   // letters.decode(tokens) is "To be"
//
// Texts are UTF-8. A vocabulary is made again from its alphabet(), which a program may save beside the weights.
class characters {
public:
  // The vocabulary of a text. Throws input_error for a text that is not UTF-8, and for one without any character.
  explicit characters(std::string_view text) {
    std::vector<bool> seen(0x110000); // a bit for each code point
    for (std::size_t at = 0; at < text.size();) {
      const detail::utf8_character next = detail::utf8_at(text, at);
      if (next.bytes == 0) refuse("characters", text, at, "UTF-8", "bytes as tokens, text::bytes, take any text");
      seen[next.code] = true;
      at += next.bytes;
    }
    for (std::size_t code = 0; code < seen.size(); ++code)
      if (seen[code]) codes_.push_back(static_cast<char32_t>(code));
    if (codes_.empty()) throw input_error("characters: expected a text of one character or more, found an empty one");
    ascii_.fill(-1);
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      if (codes_[i] < ascii_.size()) ascii_[codes_[i]] = static_cast<std::int32_t>(i);
      begins_.push_back(alphabet_.size());
      detail::append_utf8(alphabet_, codes_[i]);
    }
    begins_.push_back(alphabet_.size());
  }

  // The number of characters of the vocabulary.
  std::size_t size() const { return codes_.size(); }
  // Each character once, in the order of the tokens.
  const std::string& alphabet() const { return alphabet_; }

  // Throws input_error for a character that the vocabulary does not have; the error names it and its place.
  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const detail::utf8_character next = detail::utf8_at(text, at);
      const std::int32_t token = next.bytes == 0 ? -1 : token_of(next.code);
      if (token < 0)
        refuse("characters::encode", text, at, "one of the " + std::to_string(size()) + " characters of the vocabulary",
               "make the vocabulary from all texts that will be encoded");
      tokens.push_back(token);
      at += next.bytes;
    }
    return tokens;
  }

  // Throws input_error for a token that the vocabulary does not have.
  std::string decode(std::span<const std::int32_t> tokens) const {
    detail::check_tokens(tokens, size(), "characters::decode");
    std::string text;
    for (const std::int32_t token : tokens) {
      const auto i = static_cast<std::size_t>(token);
      text.append(alphabet_, begins_[i], begins_[i + 1] - begins_[i]);
    }
    return text;
  }

private:
  std::int32_t token_of(char32_t code) const {
    if (code < ascii_.size()) return ascii_[code];
    const auto found = std::lower_bound(codes_.begin(), codes_.end(), code);
    return found == codes_.end() || *found != code ? -1 : static_cast<std::int32_t>(found - codes_.begin());
  }
  [[noreturn]] static void refuse(const char* whose, std::string_view text, std::size_t at, const std::string& expected,
                                  const char* advice) {
    throw input_error(std::string(whose) + ": " + detail::place_in(text, at) + ": expected " + expected + ", found " +
                      detail::shown_character(text, at) + "; " + advice);
  }

  std::vector<char32_t> codes_; // sorted
  std::array<std::int32_t, 128> ascii_{};
  std::string alphabet_;
  std::vector<std::size_t> begins_; // of each character in the alphabet, and its end
};

} // namespace cairn::text
