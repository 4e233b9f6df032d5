// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/plan/buffer.hpp>

namespace cairn::detail {

// Stacked buffers first, one on the other from the bottom up; then the others beside the stack, each at the lowest
// place that is free for as long as it lives. As an other buffer meets only a few of its kind, this is linear.
template <std::size_t Capacity>
class stack_first {
public:
  constexpr stack_first(buffer* buffers, std::size_t count, std::size_t fence)
      : buffers_(buffers), count_(count), fence_(fence) {
    stack();
    order();
  }

  // Whatever ends above `bound` is placed before all others in the next round. Returns the least extent of all
  // rounds; the buffers have the offsets of that round.
  constexpr std::size_t place(std::size_t bound, std::size_t rounds) {
    std::size_t best = place_others();
    keep();
    for (std::size_t round = 0; round < rounds && best > bound; ++round) {
      raise(bound);
      const std::size_t now = place_others();
      if (now >= best) continue;
      best = now;
      keep();
    }
    for (std::size_t j = 0; j < others_; ++j) buffers_[other_[j]].offset = kept_[j];
    return best;
  }

private:
  constexpr void keep() {
    for (std::size_t j = 0; j < others_; ++j) kept_[j] = buffers_[other_[j]].offset;
  }

  // Offsets of the stacked, and for each of the others the highest top of the stack that it sees. What is pinned is
  // in the stack from the very first op on: a slice that is somebody's own.
  constexpr void stack() {
    std::array<std::size_t, Capacity + 1> stacked{};
    std::array<std::size_t, Capacity + 1> alive{};
    std::size_t height = 0;
    std::size_t living = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!buffers_[i].pinned) continue;
      stacked[height++] = i;
      if (buffers_[i].end() > extent_) extent_ = buffers_[i].end();
    }
    std::array<bool, Capacity + 1> buried{}; // another is put on it
    std::uint32_t next = static_cast<std::uint32_t>(-1);
    for (std::size_t i = count_; i-- > 0;) {
      buried[i] = buffers_[i].stacked && next <= buffers_[i].death;
      if (buffers_[i].stacked) next = buffers_[i].birth;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      buffer& b = buffers_[i];
      if (b.pinned || b.bytes == 0) continue;
      while (height > 0 && buffers_[stacked[height - 1]].death < b.birth) --height;
      std::size_t top = height == 0 ? 0 : buffers_[stacked[height - 1]].end();
      if (!buried[i]) {
        alive[living++] = others_;
        floor_[others_] = top;
        reach_[others_] = others_ == 0 || b.death > reach_[others_ - 1] ? b.death : reach_[others_ - 1];
        other_[others_++] = i;
        continue;
      }
      if (top < fence_ && top + b.bytes > fence_) top = fence_;
      b.offset = top;
      stacked[height++] = i;
      extent_ = b.end() > extent_ ? b.end() : extent_;
      std::size_t kept = 0;
      for (std::size_t k = 0; k < living; ++k) {
        if (buffers_[other_[alive[k]]].death < b.birth) continue;
        if (floor_[alive[k]] < b.end()) floor_[alive[k]] = b.end();
        grown_[alive[k]] = true;
        alive[kept++] = alive[k];
      }
      living = kept;
    }
  }

  // The first to be placed are those that see the stack grow; the last those of a single op.
  constexpr void order() {
    std::size_t r = 0;
    for (std::size_t pass = 0; pass < 3; ++pass)
      for (std::size_t j = 0; j < others_; ++j) {
        const buffer& b = buffers_[other_[j]];
        if (pass == (grown_[j] ? 0U : b.death > b.birth ? 1U : 2U)) order_[r++] = j;
      }
  }

  constexpr void raise(std::size_t bound) {
    std::array<std::size_t, Capacity + 1> rest{};
    std::size_t high = 0;
    std::size_t low = 0;
    for (std::size_t r = 0; r < others_; ++r) {
      const std::size_t j = order_[r];
      if (buffers_[other_[j]].end() > bound) order_[high++] = j;
      else rest[low++] = j;
    }
    for (std::size_t r = 0; r < low; ++r) order_[high + r] = rest[r];
  }

  constexpr std::size_t place_others() {
    std::size_t end = extent_;
    ++round_;
    for (std::size_t r = 0; r < others_; ++r) {
      const std::size_t j = order_[r];
      buffer& b = buffers_[other_[j]];
      b.offset = lowest(j, b);
      placed_[j] = round_;
      if (b.end() > end) end = b.end();
    }
    return end;
  }

  constexpr std::size_t lowest(std::size_t j, const buffer& b) const {
    std::size_t first = j; // of the others that may meet b
    while (first > 0 && reach_[first - 1] >= b.birth) --first;
    std::size_t last = j + 1;
    while (last < others_ && buffers_[other_[last]].birth <= b.death) ++last;
    std::size_t from = floor_[j];
    for (bool moved = true; moved;) {
      moved = false;
      if (from < fence_ && from + b.bytes > fence_) from = fence_;
      for (std::size_t k = first; k < last; ++k) {
        const buffer& other = buffers_[other_[k]];
        if (placed_[k] != round_ || other.death < b.birth) continue;
        if (from >= other.end() || other.offset >= from + b.bytes) continue;
        from = other.end();
        moved = true;
      }
    }
    return from;
  }

  buffer* buffers_;
  std::size_t count_;
  std::size_t fence_;
  std::size_t extent_ = 0; // of the stack
  std::size_t others_ = 0;
  std::uint32_t round_ = 0;
  std::array<std::size_t, Capacity + 1> other_{}; // index of each of the others, in the order of their births
  std::array<std::size_t, Capacity + 1> floor_{};
  std::array<std::uint32_t, Capacity + 1> reach_{}; // the last death among these first others
  std::array<bool, Capacity + 1> grown_{};
  std::array<std::size_t, Capacity + 1> order_{};
  std::array<std::uint32_t, Capacity + 1> placed_{}; // in which round
  std::array<std::size_t, Capacity + 1> kept_{};
};

} // namespace cairn::detail
