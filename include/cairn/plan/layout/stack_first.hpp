// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/layout/buffer.hpp>

namespace cairn::detail {

// Places stacked buffers first, one on the other from the bottom up. Then it places the others beside the stack, each at the
// lowest place that is free for as long as it lives. As such a buffer meets only a few of its kind, this is linear.
template <std::size_t Capacity>
class stack_first {
public:
  constexpr stack_first(buffer* buffers, std::size_t count, std::size_t fence) : buffers_(buffers), count_(count), fence_(fence) {
    stack();
    order();
  }
  stack_first(const stack_first&) = delete;
  stack_first& operator=(const stack_first&) = delete;

  // Places the buffers in rounds: those that end above `bound` are placed before all others in the next round. Returns the
  // least extent of all rounds; the buffers have the offsets of that round.
  constexpr std::size_t place(std::size_t bound, std::size_t rounds) {
    std::size_t best = place_others();
    if (best <= bound || rounds == 0) return best; // the usual case
    keep();
    for (std::size_t round = 0; round < rounds && best > bound; ++round) {
      raise(bound);
      const std::size_t now = place_others();
      if (now >= best) continue;
      best = now;
      keep();
    }
    for (std::size_t j = 0; j < others_; ++j) buffers_[other_.items[j]].offset = kept_.items[j];
    return best;
  }

private:
  template <class Item>
  using per_buffer = plain_array<Item, plus(Capacity, 1)>;

  constexpr void keep() {
    for (std::size_t j = 0; j < others_; ++j) kept_.items[j] = buffers_[other_.items[j]].offset;
  }

  // The others of one sort, long-lived or short-lived, in the order of their births. In a common row every short-lived buffer
  // would look at all that were born since a long-lived one; so the two sorts have a row each.
  struct row {
    explicit constexpr row(std::size_t count) : members(count + 1), reach(count + 1) {}
    per_buffer<std::uint32_t> members; // indices among the others
    per_buffer<std::uint32_t> reach;   // the last death of this member and those before it
    std::size_t size = 0;

    constexpr void add(std::size_t j, std::uint32_t death) {
      reach.items[size] = size > 0 && reach.items[size - 1] > death ? reach.items[size - 1] : death;
      members.items[size++] = static_cast<std::uint32_t>(j);
    }
  };
  static constexpr std::uint32_t long_life = 16;

  // Finds the offsets of the stacked buffers and, for each of the others, the highest top of the stack during its life. Pinned
  // buffers are in the stack from the very first op on, in a slice of their own. A stacked buffer that carries no other, or
  // that does not live long, counts as one of the others.
  constexpr void stack() {
    per_buffer<std::uint32_t> stacked(count_ + 1);
    per_buffer<std::uint32_t> alive(count_ + 1);
    per_buffer<char> carries(count_ + 1);
    std::size_t height = 0;
    std::size_t living = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (!buffers_[i].pinned) continue;
      stacked.items[height++] = static_cast<std::uint32_t>(i);
      if (buffers_[i].end() > extent_) extent_ = buffers_[i].end();
    }
    std::uint32_t next = static_cast<std::uint32_t>(-1);
    for (std::size_t i = count_; i-- > 0;) {
      if (!buffers_[i].stacked) continue;
      carries.items[i] = next <= buffers_[i].death && buffers_[i].death - buffers_[i].birth > long_life ? 1 : 0;
      next = buffers_[i].birth;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      buffer& b = buffers_[i];
      if (b.pinned || b.bytes == 0) continue;
      while (height > 0 && buffers_[stacked.items[height - 1]].death < b.birth) --height;
      std::size_t top = height == 0 ? 0 : buffers_[stacked.items[height - 1]].end();
      if (carries.items[i] == 0) {
        alive.items[living++] = static_cast<std::uint32_t>(others_);
        add_other(i, top);
        continue;
      }
      if (top < fence_ && top + b.bytes > fence_) top = fence_;
      b.offset = top;
      stacked.items[height++] = static_cast<std::uint32_t>(i);
      if (b.end() > extent_) extent_ = b.end();
      std::size_t kept = 0;
      for (std::size_t k = 0; k < living; ++k) {
        const std::uint32_t j = alive.items[k];
        if (buffers_[other_.items[j]].death < b.birth) continue;
        if (floor_.items[j] < b.end()) floor_.items[j] = b.end();
        grown_.items[j] = 1;
        alive.items[kept++] = j;
      }
      living = kept;
    }
  }

  constexpr void add_other(std::size_t i, std::size_t top) {
    const std::size_t j = others_++;
    const buffer& b = buffers_[i];
    other_.items[j] = static_cast<std::uint32_t>(i);
    floor_.items[j] = top;
    for (std::size_t sort = 0; sort < 2; ++sort) from_[sort].items[j] = static_cast<std::uint32_t>(rows_[sort].size);
    rows_[b.death - b.birth > long_life ? 1 : 0].add(j, b.death);
  }

  // Others that live while the stack grows are placed first, those of a single op last.
  constexpr void order() {
    per_buffer<std::uint32_t> later(count_ + 1);
    per_buffer<std::uint32_t> last(count_ + 1);
    std::size_t firsts = 0, laters = 0, lasts = 0;
    for (std::uint32_t j = 0; j < others_; ++j) {
      const buffer& b = buffers_[other_.items[j]];
      if (grown_.items[j] != 0) order_.items[firsts++] = j;
      else if (b.death > b.birth) later.items[laters++] = j;
      else last.items[lasts++] = j;
    }
    for (std::size_t r = 0; r < laters; ++r) order_.items[firsts + r] = later.items[r];
    for (std::size_t r = 0; r < lasts; ++r) order_.items[firsts + laters + r] = last.items[r];
  }

  constexpr void raise(std::size_t bound) {
    per_buffer<std::uint32_t> rest(count_ + 1);
    std::size_t high = 0;
    std::size_t low = 0;
    for (std::size_t r = 0; r < others_; ++r) {
      const std::uint32_t j = order_.items[r];
      if (buffers_[other_.items[j]].end() > bound) order_.items[high++] = j;
      else rest.items[low++] = j;
    }
    for (std::size_t r = 0; r < low; ++r) order_.items[high + r] = rest.items[r];
  }

  constexpr std::size_t place_others() {
    std::size_t end = extent_;
    ++round_;
    for (std::size_t r = 0; r < others_; ++r) {
      const std::size_t j = order_.items[r];
      buffer& b = buffers_[other_.items[j]];
      const std::size_t offset = lowest(j, b);
      b.offset = offset;
      placed_.items[j] = round_;
      if (offset + b.bytes > end) end = offset + b.bytes;
    }
    return end;
  }

  constexpr std::size_t lowest(std::size_t j, const buffer& b) {
    const std::size_t count = find_near(j, b);
    const std::uint32_t* const near = near_.items;
    const buffer* const buffers = buffers_;
    const std::size_t bytes = b.bytes;
    const std::size_t fence = fence_;
    std::size_t from = floor_.items[j];
    for (bool moved = true; moved;) {
      moved = false;
      if (from < fence && from + bytes > fence) from = fence;
      for (std::size_t k = 0; k < count; ++k) {
        const buffer& other = buffers[near[k]];
        const std::size_t end = other.offset + other.bytes;
        if (from >= end || other.offset >= from + bytes) continue;
        from = end;
        moved = true;
      }
    }
    return from;
  }

  // Finds the others that have a place in this round and live at the same time as b. In the plan of a long chain the compiler
  // spends most of its time here: so nothing is called, and members that are read often are copied to variables.
  constexpr std::size_t find_near(std::size_t j, const buffer& b) {
    const buffer* const buffers = buffers_;
    const std::uint32_t* const other = other_.items;
    const std::uint32_t* const placed = placed_.items;
    const std::uint32_t round = round_;
    const std::uint32_t birth = b.birth;
    const std::uint32_t death = b.death;
    std::uint32_t* const near = near_.items;
    std::size_t count = 0;
    for (std::size_t sort = 0; sort < 2; ++sort) {
      const row& all = rows_[sort];
      const std::uint32_t* const members = all.members.items;
      const std::uint32_t* const reach = all.reach.items;
      const std::size_t size = all.size;
      if (size == 0) continue;
      const std::size_t from = from_[sort].items[j];
      for (std::size_t k = from; k > 0 && reach[k - 1] >= birth; --k) {
        const std::uint32_t i = members[k - 1];
        if (placed[i] == round && buffers[other[i]].death >= birth) near[count++] = other[i];
      }
      for (std::size_t k = from; k < size; ++k) {
        const std::uint32_t i = members[k];
        const std::uint32_t which = other[i];
        if (buffers[which].birth > death) break;
        if (placed[i] == round) near[count++] = which;
      }
    }
    return count;
  }

  buffer* buffers_;
  std::size_t count_;
  std::size_t fence_;
  std::size_t extent_ = 0; // of the stack
  std::size_t others_ = 0;
  std::uint32_t round_ = 0;
  per_buffer<std::uint32_t> other_{count_ + 1}; // index of each of the others, in the order of their births
  per_buffer<std::size_t> floor_{count_ + 1};
  per_buffer<char> grown_{count_ + 1};
  per_buffer<std::uint32_t> from_[2]{per_buffer<std::uint32_t>(count_ + 1),
                                     per_buffer<std::uint32_t>(count_ + 1)}; // the position of each in each row
  per_buffer<std::uint32_t> order_{count_ + 1};
  per_buffer<std::uint32_t> placed_{count_ + 1}; // in which round
  per_buffer<std::uint32_t> near_{count_ + 1};
  per_buffer<std::size_t> kept_{count_ + 1};
  row rows_[2]{row(count_), row(count_)};
};

} // namespace cairn::detail
