// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/text/character_kind.hpp>
#include <cairn/data/text/utf8.hpp>

namespace cairn::detail {

struct kind_and_bytes {
  character_kind kind = character_kind::other;
  std::size_t bytes = 1;
};
// A byte that is no UTF-8 is a character of one byte, which is neither a letter nor a number nor white space.
constexpr kind_and_bytes kind_at(std::string_view text, std::size_t at) {
  const utf8_character found = utf8_at(text, at);
  return found.bytes == 0 ? kind_and_bytes{} : kind_and_bytes{kind_of(found.code), found.bytes};
}

// The end of the run of characters of one kind that begins at a byte.
constexpr std::size_t end_of_kind(std::string_view text, std::size_t at, character_kind kind) {
  while (at < text.size()) {
    const kind_and_bytes next = kind_at(text, at);
    if (next.kind != kind) break;
    at += next.bytes;
  }
  return at;
}

// The end of the piece that begins at a byte, as GPT-2 cuts a text before it joins bytes. A piece is, by its regular expression,
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
constexpr std::size_t end_of_piece(std::string_view text, std::size_t at) {
  if (text[at] == '\'')
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (text.substr(at).starts_with(ending)) return at + ending.size();
  const std::size_t begin = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  const character_kind kind = kind_at(text, begin).kind;
  if (kind != character_kind::space) return end_of_kind(text, begin, kind);
  // White space. The last character of it belongs to what follows, if there is more than one and something follows.
  std::size_t last = at;
  std::size_t end = at;
  while (end < text.size()) {
    const kind_and_bytes next = kind_at(text, end);
    if (next.kind != character_kind::space) break;
    last = end;
    end += next.bytes;
  }
  return end < text.size() && last > at ? last : end;
}

} // namespace cairn::detail
