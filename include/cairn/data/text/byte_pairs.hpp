// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/text/check_tokens.hpp>
#include <cairn/data/text/gpt2_pieces.hpp>
#include <cairn/data/text/read_text.hpp>
#include <cairn/data/text/token_list.hpp>
#include <cairn/data/text/utf8.hpp>

namespace cairn::detail {

// The characters by which GPT-2's files write the 256 bytes: the visible ones of Latin-1 stand for themselves, the others follow
// from U+0100 on.
constexpr std::array<char32_t, 256> characters_of_bytes() {
  std::array<char32_t, 256> out{};
  char32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    out[byte] = is_visible ? static_cast<char32_t>(byte) : next++;
  }
  return out;
}

// The bytes that such a text stands for; nothing if it has any other character.
inline std::optional<std::string> bytes_of_characters(std::string_view text) {
  static constexpr auto characters = characters_of_bytes();
  static constexpr auto bytes = [] {
    std::array<std::int16_t, 324> out{};
    for (std::int16_t& each : out) each = -1;
    for (std::size_t byte = 0; byte < 256; ++byte) out[characters[byte]] = static_cast<std::int16_t>(byte);
    return out;
  }();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const utf8_character next = utf8_at(text, at);
    if (next.bytes == 0 || next.code >= bytes.size() || bytes[next.code] < 0) return std::nullopt;
    out += static_cast<char>(static_cast<unsigned char>(bytes[next.code]));
    at += next.bytes;
  }
  return out;
}

} // namespace cairn::detail

namespace cairn::text {

// GPT-2's tokens: byte pair encoding of bytes (Radford, Wu, Child, Luan, Amodei, Sutskever: Language models are unsupervised
// multitask learners. 2019, section 2.2). A text is cut into words, numbers, other characters and white space; in each piece,
// which begins as one token a byte, the neighbours that stand first in the list of merges become one token, all of them from left
// to right, until no neighbours are in the list.
//
// Letters and numbers are those of Unicode 14, white space is its White_Space. Every text can be encoded, also one that is not
// UTF-8, and decode gives its bytes back. Names of special tokens, such as <|endoftext|>, are encoded as any other text; find()
// returns their tokens.
class byte_pairs {
public:
  // From the contents of vocab.json (or encoder.json) and of merges.txt (or vocab.bpe). The names are those of errors. Throws
  // file_error, with the line, for a file that is malformed, for numbers of tokens that are not 0, 1, 2, … , for a byte without
  // a token and for merges whose tokens are not in the vocabulary.
  byte_pairs(std::string_view vocabulary, std::string_view merges, const std::string& vocabulary_name = "vocab.json",
             const std::string& merges_name = "merges.txt") {
    read_vocabulary(vocabulary, vocabulary_name);
    read_merges(merges, merges_name);
  }

  // The number of tokens.
  std::size_t size() const { return tokens_.size(); }

  std::vector<std::int32_t> encode(std::string_view text) const {
    std::vector<std::int32_t> out;
    out.reserve(text.size() / 3);
    merging work;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = detail::end_of_piece(text, at);
      encode_piece(text.substr(at, end - at), work, out);
      at = end;
    }
    return out;
  }

  // Throws input_error for a token that the vocabulary does not have.
  std::string decode(std::span<const std::int32_t> tokens) const {
    detail::check_tokens(tokens, size(), "byte_pairs::decode");
    std::string text;
    for (const std::int32_t token : tokens) text += tokens_[static_cast<std::size_t>(token)];
    return text;
  }

  // The token of exactly these bytes: find("<|endoftext|>"). None if there is no such token.
  std::optional<std::int32_t> find(std::string_view token) const {
    const auto found = numbers_.find(std::string(token));
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

private:
  struct merge {
    std::uint32_t rank = 0; // its place in the list
    std::int32_t token = 0; // of both together
  };
  // Neighbours that can be joined: the left one's place, and both tokens as they were.
  struct candidate {
    std::uint32_t rank = 0;
    std::uint32_t at = 0;
    std::int32_t left = 0, right = 0, both = 0;
    bool operator>(const candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  // The memory of encode(): the tokens of a piece as a list, and its candidates as a heap.
  struct merging {
    std::vector<std::int32_t> tokens; // -1 where a token has become a part of the one before
    std::vector<std::uint32_t> next, before;
    std::vector<candidate> heap, found;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U | static_cast<std::uint32_t>(right);
  }

  // O(n log n) for a piece of n bytes. Candidates of one rank are taken from left to right, and those that they make are added
  // only afterwards: their rank may be lower, as a token may be made in several ways.
  void encode_piece(std::string_view piece, merging& work, std::vector<std::int32_t>& out) const {
    const auto size = static_cast<std::uint32_t>(piece.size());
    std::vector<std::int32_t>& tokens = work.tokens;
    std::vector<std::uint32_t>&next = work.next, &before = work.before;
    std::vector<candidate>&heap = work.heap, &found = work.found;
    tokens.resize(size), next.resize(size), before.resize(size), heap.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      tokens[i] = of_bytes_[static_cast<unsigned char>(piece[i])];
      next[i] = i + 1;
      before[i] = i - 1; // of the first one it is not read
    }
    const auto consider = [&](std::uint32_t at, std::vector<candidate>& into) {
      if (next[at] >= size) return;
      const auto pair = merges_.find(key_of(tokens[at], tokens[next[at]]));
      if (pair != merges_.end()) into.push_back({pair->second.rank, at, tokens[at], tokens[next[at]], pair->second.token});
    };
    for (std::uint32_t i = 0; i + 1 < size; ++i) consider(i, heap);
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    while (!heap.empty()) {
      const std::uint32_t rank = heap.front().rank;
      found.clear();
      while (!heap.empty() && heap.front().rank == rank) {
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const candidate pair = heap.back();
        heap.pop_back();
        const std::uint32_t at = pair.at, right = next[at];
        if (tokens[at] != pair.left || right >= size || tokens[right] != pair.right) continue; // joined to others meanwhile
        tokens[at] = pair.both;
        tokens[right] = -1;
        next[at] = next[right];
        if (next[at] < size) before[next[at]] = at;
        if (at != 0) consider(before[at], found);
        consider(at, found);
      }
      for (const candidate& each : found) {
        heap.push_back(each);
        std::push_heap(heap.begin(), heap.end(), std::greater<>());
      }
    }
    for (std::uint32_t i = 0; i < size; i = next[i]) out.push_back(tokens[i]);
  }

  void read_vocabulary(std::string_view text, const std::string& name) {
    detail::token_list list(text, name);
    const std::vector<detail::listed_token> all = list.read();
    tokens_.resize(all.size());
    std::vector<bool> seen(all.size());
    for (const detail::listed_token& each : all) {
      auto bytes = detail::bytes_of_characters(each.text);
      if (!bytes || bytes->empty())
        list.fail(each.at, "a token of the 256 characters that stand for bytes", "'" + detail::beginning_of(each.text) + "'");
      const auto number = static_cast<std::size_t>(each.number);
      if (number >= all.size() || seen[number])
        list.fail(each.at, "each of the numbers 0 to " + std::to_string(all.size() - 1) + " once",
                  (number >= all.size() ? "" : "again ") + std::to_string(number));
      seen[number] = true;
      if (!numbers_.emplace(*bytes, each.number).second) list.fail(each.at, "each token once", "'" + each.text + "' again");
      tokens_[number] = std::move(*bytes);
    }
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto found = find(std::string(1, static_cast<char>(static_cast<unsigned char>(byte))));
      if (!found) list.fail(text.size(), "a token for each of the 256 bytes", "none for byte " + std::to_string(byte));
      of_bytes_[byte] = *found;
    }
  }

  void read_merges(std::string_view text, const std::string& name) {
    std::size_t number = 0;
    const auto fail = [&](const std::string& expected, std::string_view found) {
      throw file_error(name + ", line " + std::to_string(number) + ": expected " + expected + ", found '" +
                       detail::beginning_of(found) + "'; merges are two tokens a line, as in GPT-2's merges.txt");
    };
    const auto token_of = [&](std::string_view characters) {
      const auto bytes = detail::bytes_of_characters(characters);
      const auto found = bytes ? find(*bytes) : std::nullopt;
      if (!found) fail("tokens of the vocabulary", characters);
      return found.value_or(0);
    };
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      at = end + 1;
      ++number;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
      const std::size_t space = line.find(' ');
      if (space == 0 || space + 1 >= line.size() || space == line.npos || line.find(' ', space + 1) != line.npos)
        fail("two tokens with a space between them", line);
      const std::string_view left = line.substr(0, space), right = line.substr(space + 1);
      const std::int32_t first = token_of(left), second = token_of(right);
      const std::int32_t both = token_of(std::string(left).append(right));
      if (!merges_.try_emplace(key_of(first, second), merge{static_cast<std::uint32_t>(merges_.size()), both}).second)
        fail("each pair of tokens once", line);
    }
  }

  std::vector<std::string> tokens_; // the bytes of each token
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::unordered_map<std::uint64_t, merge> merges_;
  std::array<std::int32_t, 256> of_bytes_{};
};

// GPT-2's tokens from its two files: vocab.json and merges.txt, or by their first names encoder.json and vocab.bpe.
inline byte_pairs read_byte_pairs(const std::string& vocabulary, const std::string& merges) {
  const std::string list = read_text(vocabulary);
  return byte_pairs(list, read_text(merges), vocabulary, merges);
}

} // namespace cairn::text
