// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <cairn/plan/op.hpp>

namespace cairn::detail {

// A 64-bit hash of numbers and names, taken in order (FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv).
class hash64 {
public:
  constexpr hash64& add(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) mix(static_cast<unsigned char>(number >> (8 * byte)));
    return *this;
  }
  constexpr hash64& add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    return add(text.size());
  }
  constexpr std::uint64_t value() const { return state_; }

private:
  constexpr void mix(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001B3U; }

  std::uint64_t state_ = 0xCBF29CE484222325U;
};

// Adds the ops of a schedule: the kind, the position and the wanted results of each.
constexpr void add_ops(hash64& h, std::span<const op> ops) {
  for (const op& o : ops)
    h.add(static_cast<std::uint64_t>(o.kind) | std::uint64_t{o.wants_output} << 8 | std::uint64_t{o.wants_tape} << 9 |
          std::uint64_t{o.position} << 16);
}

// Everything that the ranks of a job must have in common, one hash for each item, so that an error can name the item that
// differs. An item comes after those that it depends on: buckets are cut in elements.
struct fingerprint {
  static constexpr std::size_t parts = 8;
  static constexpr std::array<const char*, parts> names{"network",          "checkpoint policy",   "element type",
                                                        "gradient buckets", "batch statistics",    "order of calls",
                                                        "version of Cairn", "build of the program"};

  std::array<std::uint64_t, parts> words{};

  constexpr std::uint64_t value() const {
    hash64 h;
    for (const std::uint64_t word : words) h.add(word);
    return h.value();
  }
  // The index of the first part that differs, or `parts`.
  constexpr std::size_t differs(const fingerprint& other) const {
    std::size_t i = 0;
    while (i < parts && words[i] == other.words[i]) ++i;
    return i;
  }
  constexpr bool operator==(const fingerprint&) const = default;
};

} // namespace cairn::detail
