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

  // Others of one sort, in the order of their births. A long life among many short ones would make each of these look
  // at all that were born since; so the two sorts have a row each.
  struct row {
    std::array<std::uint32_t, Capacity + 1> members{}; // which of the others
    std::array<std::uint32_t, Capacity + 1> reach{};   // the last death of this member and those before it
    std::size_t size = 0;

    constexpr void add(std::size_t j, std::uint32_t death) {
      reach[size] = size > 0 && reach[size - 1] > death ? reach[size - 1] : death;
      members[size++] = static_cast<std::uint32_t>(j);
    }
  };
  static constexpr std::uint32_t long_life = 16;

  // Offsets of the stacked, and for each of the others the highest top of the stack that it sees. What is pinned is
  // in the stack from the very first op on: a slice that is somebody's own. A stacked buffer on which no other is put,
  // or that does not live long, can as well lie elsewhere.
  constexpr void stack() {
    std::array<std::uint32_t, Capacity + 1> stacked{};
    std::array<std::uint32_t, Capacity + 1> alive{};
    std::array<bool, Capacity + 1> carries{};
    std::size_t height = 0;
    std::size_t living = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!buffers_[i].pinned) continue;
      stacked[height++] = static_cast<std::uint32_t>(i);
      if (buffers_[i].end() > extent_) extent_ = buffers_[i].end();
    }
    std::uint32_t next = static_cast<std::uint32_t>(-1);
    for (std::size_t i = count_; i-- > 0;) {
      if (!buffers_[i].stacked) continue;
      carries[i] = next <= buffers_[i].death && buffers_[i].death - buffers_[i].birth > long_life;
      next = buffers_[i].birth;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      buffer& b = buffers_[i];
      if (b.pinned || b.bytes == 0) continue;
      while (height > 0 && buffers_[stacked[height - 1]].death < b.birth) --height;
      std::size_t top = height == 0 ? 0 : buffers_[stacked[height - 1]].end();
      if (!carries[i]) {
        alive[living++] = static_cast<std::uint32_t>(others_);
        add_other(i, top);
        continue;
      }
      if (top < fence_ && top + b.bytes > fence_) top = fence_;
      b.offset = top;
      stacked[height++] = static_cast<std::uint32_t>(i);
      if (b.end() > extent_) extent_ = b.end();
      std::size_t kept = 0;
      for (std::size_t k = 0; k < living; ++k) {
        const std::uint32_t j = alive[k];
        if (buffers_[other_[j]].death < b.birth) continue;
        if (floor_[j] < b.end()) floor_[j] = b.end();
        grown_[j] = true;
        alive[kept++] = j;
      }
      living = kept;
    }
  }

  constexpr void add_other(std::size_t i, std::size_t top) {
    const std::size_t j = others_++;
    const buffer& b = buffers_[i];
    other_[j] = static_cast<std::uint32_t>(i);
    floor_[j] = top;
    for (std::size_t sort = 0; sort < 2; ++sort)
      from_[sort][j] = static_cast<std::uint32_t>(rows_[sort].size);
    rows_[b.death - b.birth > long_life ? 1 : 0].add(j, b.death);
  }

  // The first to be placed are those that see the stack grow; the last those of a single op.
  constexpr void order() {
    std::size_t r = 0;
    for (std::size_t pass = 0; pass < 3; ++pass)
      for (std::size_t j = 0; j < others_; ++j) {
        const buffer& b = buffers_[other_[j]];
        if (pass == (grown_[j] ? 0U : b.death > b.birth ? 1U : 2U))
          order_[r++] = static_cast<std::uint32_t>(j);
      }
  }

  constexpr void raise(std::size_t bound) {
    std::array<std::uint32_t, Capacity + 1> rest{};
    std::size_t high = 0;
    std::size_t low = 0;
    for (std::size_t r = 0; r < others_; ++r) {
      const std::uint32_t j = order_[r];
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

  constexpr std::size_t lowest(std::size_t j, const buffer& b) {
    find_near(j, b);
    std::size_t from = floor_[j];
    for (bool moved = true; moved;) {
      moved = false;
      if (from < fence_ && from + b.bytes > fence_) from = fence_;
      for (std::size_t k = 0; k < near_count_; ++k) {
        const buffer& other = buffers_[near_[k]];
        if (from >= other.end() || other.offset >= from + b.bytes) continue;
        from = other.end();
        moved = true;
      }
    }
    return from;
  }

  // Those of the others that have a place in this round and are alive with b.
  constexpr void find_near(std::size_t j, const buffer& b) {
    near_count_ = 0;
    const auto look = [&](std::uint32_t other) {
      if (placed_[other] == round_ && buffers_[other_[other]].death >= b.birth)
        near_[near_count_++] = other_[other];
    };
    for (std::size_t sort = 0; sort < 2; ++sort) {
      const row& all = rows_[sort];
      for (std::size_t k = from_[sort][j]; k > 0 && all.reach[k - 1] >= b.birth; --k)
        look(all.members[k - 1]);
      for (std::size_t k = from_[sort][j]; k < all.size && buffers_[other_[all.members[k]]].birth <= b.death;
           ++k)
        look(all.members[k]);
    }
  }

  buffer* buffers_;
  std::size_t count_;
  std::size_t fence_;
  std::size_t extent_ = 0; // of the stack
  std::size_t others_ = 0;
  std::uint32_t round_ = 0;
  std::array<std::uint32_t, Capacity + 1>
      other_{}; // index of each of the others, in the order of their births
  std::array<std::size_t, Capacity + 1> floor_{};
  std::array<bool, Capacity + 1> grown_{};
  std::array<row, 2> rows_{};
  std::array<std::array<std::uint32_t, Capacity + 1>, 2> from_{}; // where each would stand in each row
  std::array<std::uint32_t, Capacity + 1> order_{};
  std::array<std::uint32_t, Capacity + 1> placed_{}; // in which round
  std::array<std::uint32_t, Capacity + 1> near_{};
  std::size_t near_count_ = 0;
  std::array<std::size_t, Capacity + 1> kept_{};
};

} // namespace cairn::detail
