// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/plain_array.hpp>

namespace cairn::detail {

// A buffer that is needed from op `birth` to op `death`, both included.
struct buffer {
  std::size_t bytes = 0;
  std::uint32_t birth = 0;
  std::uint32_t death = 0;
  bool stacked = false; // made by a forward and last read by a backward: such lifetimes nest
  bool pinned = false;  // it has its offset already
  std::size_t offset = 0;

  constexpr std::size_t end() const { return offset + bytes; }
  constexpr bool meets(const buffer& other) const { return birth <= other.death && other.birth <= death; }
  constexpr bool overlaps(const buffer& other) const { return offset < other.end() && other.offset < end(); }
};

// No buffer lies across a fence, where one slice of memory ends and the next begins.
inline constexpr std::size_t no_fence = static_cast<std::size_t>(-1);

// The bytes alive at each op. No arrangement can be smaller than their maximum.
template <std::size_t Ops>
constexpr plain_array<std::size_t, plus(Ops, 1)> live_bytes(std::span<const buffer> buffers, std::size_t ops = Ops) {
  plain_array<std::size_t, plus(Ops, 1)> live(ops + 1);
  plain_array<std::size_t, plus(Ops, 2)> goes(ops + 2);
  const buffer* const all = buffers.data(); // a span's iterators are calls
  const std::size_t count = buffers.size();
  for (std::size_t i = 0; i < count; ++i) {
    live.items[all[i].birth] += all[i].bytes;
    goes.items[all[i].death + 1] += all[i].bytes;
  }
  for (std::size_t t = 1; t < ops; ++t) live.items[t] += live.items[t - 1] - goes.items[t];
  return live;
}

// Their maximum over all ops, without a list of them.
template <std::size_t Ops>
constexpr std::size_t most_live(std::span<const buffer> buffers, std::size_t ops = Ops) {
  plain_array<std::size_t, plus(Ops, 2)> change(ops + 2); // modulo 2^64: a difference may be negative
  const buffer* const all = buffers.data();
  const std::size_t count = buffers.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = all[i].bytes;
    change.items[all[i].birth] += bytes;
    change.items[all[i].death + 1] -= bytes;
  }
  std::size_t now = 0;
  std::size_t most = 0;
  for (std::size_t t = 0; t < ops; ++t) {
    now += change.items[t];
    if (now > most) most = now;
  }
  return most;
}

} // namespace cairn::detail
