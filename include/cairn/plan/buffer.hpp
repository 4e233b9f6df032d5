// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/list.hpp>

namespace cairn {

// A buffer that is needed from op `birth` to op `death`, both included.
struct buffer {
  std::size_t bytes = 0;
  std::uint32_t birth = 0;
  std::uint32_t death = 0;
  bool stacked = false; // made on a way up and last read on a way back: such lifetimes nest
  bool pinned = false;  // it has its offset already
  std::size_t offset = 0;

  constexpr std::size_t end() const { return offset + bytes; }
  constexpr bool meets(const buffer& other) const { return birth <= other.death && other.birth <= death; }
  constexpr bool overlaps(const buffer& other) const { return offset < other.end() && other.offset < end(); }
};

// No buffer lies across a fence, where one slice of memory ends and the next begins.
inline constexpr std::size_t no_fence = static_cast<std::size_t>(-1);

// The bytes that live at each op. No arrangement can be smaller than the most of them.
template <std::size_t Ops>
constexpr list<std::size_t, with(Ops, 1)> live_bytes(std::span<const buffer> buffers, std::size_t ops = Ops) {
  list<std::size_t, with(Ops, 1)> out(ops + 1);
  list<std::size_t, with(Ops, 2)> gone(ops + 2);
  std::size_t* const live = out.data();
  std::size_t* const goes = gone.data();
  for (const buffer& b : buffers) {
    live[b.birth] += b.bytes;
    goes[b.death + 1] += b.bytes;
  }
  for (std::size_t t = 1; t < ops; ++t) live[t] += live[t - 1] - goes[t];
  return out;
}

constexpr std::size_t highest(std::span<const std::size_t> list) {
  std::size_t most = 0;
  for (const std::size_t item : list) most = item > most ? item : most;
  return most;
}

} // namespace cairn
