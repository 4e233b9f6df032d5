// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/list.hpp>
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
  stack_first(const stack_first&) = delete;
  stack_first& operator=(const stack_first&) = delete;

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
    explicit constexpr row(std::size_t count) : members_room(count + 1), reach_room(count + 1) {}
    list<std::uint32_t, with(Capacity, 1)> members_room;
    list<std::uint32_t, with(Capacity, 1)> reach_room;
    std::uint32_t* const members = members_room.data(); // which of the others
    std::uint32_t* const reach = reach_room.data();     // the last death of this member and those before it
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
    list<std::uint32_t, with(Capacity, 1)> stacked_room(count_ + 1);
    list<std::uint32_t, with(Capacity, 1)> alive_room(count_ + 1);
    list<char, with(Capacity, 1)> carries_room(count_ + 1);
    std::uint32_t* const stacked = stacked_room.data();
    std::uint32_t* const alive = alive_room.data();
    char* const carries = carries_room.data();
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
      carries[i] = next <= buffers_[i].death && buffers_[i].death - buffers_[i].birth > long_life ? 1 : 0;
      next = buffers_[i].birth;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      buffer& b = buffers_[i];
      if (b.pinned || b.bytes == 0) continue;
      while (height > 0 && buffers_[stacked[height - 1]].death < b.birth) --height;
      std::size_t top = height == 0 ? 0 : buffers_[stacked[height - 1]].end();
      if (carries[i] == 0) {
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
        grown_[j] = 1;
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
      from_[sort][j] = static_cast<std::uint32_t>(rows_[sort]->size);
    rows_[b.death - b.birth > long_life ? 1 : 0]->add(j, b.death);
  }

  // The first to be placed are those that see the stack grow; the last those of a single op.
  constexpr void order() {
    std::size_t r = 0;
    for (std::size_t pass = 0; pass < 3; ++pass)
      for (std::size_t j = 0; j < others_; ++j) {
        const buffer& b = buffers_[other_[j]];
        if (pass == (grown_[j] != 0 ? 0U : b.death > b.birth ? 1U : 2U))
          order_[r++] = static_cast<std::uint32_t>(j);
      }
  }

  constexpr void raise(std::size_t bound) {
    list<std::uint32_t, with(Capacity, 1)> rest_room(count_ + 1);
    std::uint32_t* const rest = rest_room.data();
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
      const row& all = *rows_[sort];
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
  // A list for each of these, and a pointer into it: every call of a list's [] costs the compiler time.
  template <class Item>
  using per_buffer = list<Item, with(Capacity, 1)>;
  per_buffer<std::uint32_t> other_room_{count_ + 1}, order_room_{count_ + 1}, placed_room_{count_ + 1},
      near_room_{count_ + 1}, from_short_room_{count_ + 1}, from_long_room_{count_ + 1};
  per_buffer<std::size_t> floor_room_{count_ + 1}, kept_room_{count_ + 1};
  per_buffer<char> grown_room_{count_ + 1};
  row short_{count_}, long_{count_};
  row* const rows_[2]{&short_, &long_};

  std::uint32_t* const other_ =
      other_room_.data(); // index of each of the others, in the order of their births
  std::size_t* const floor_ = floor_room_.data();
  char* const grown_ = grown_room_.data();
  std::uint32_t* const from_[2]{from_short_room_.data(),
                                from_long_room_.data()}; // where each would stand in each row
  std::uint32_t* const order_ = order_room_.data();
  std::uint32_t* const placed_ = placed_room_.data(); // in which round
  std::uint32_t* const near_ = near_room_.data();
  std::size_t near_count_ = 0;
  std::size_t* const kept_ = kept_room_.data();
};

} // namespace cairn::detail
