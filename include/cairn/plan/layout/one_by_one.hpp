// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/layout/buffer.hpp>

namespace cairn::detail {

enum class importance : unsigned char { life, peak, size };

// Places buffers in an order of importance, each at the lowest place that is free for as long as it lives. The longest lives
// come first, or those buffers that are alive when memory is fullest, or the largest. Then it improves the order: while the
// extent is above the bound, the highest buffer becomes the most important. Quadratic.
template <std::size_t Capacity>
class one_by_one {
public:
  constexpr one_by_one(buffer* buffers, std::size_t count, std::size_t fence, importance by)
      : buffers_(buffers), count_(count), fence_(fence) {
    order(by);
  }
  one_by_one(const one_by_one&) = delete;
  one_by_one& operator=(const one_by_one&) = delete;

  // Returns the least extent of all rounds; the buffers have the offsets of that round.
  constexpr std::size_t place(std::size_t bound, std::size_t rounds) {
    std::size_t best = place_all();
    keep();
    for (std::size_t round = 0; round < rounds && best > bound; ++round) {
      raise_highest();
      const std::size_t now = place_all();
      if (now >= best) continue;
      best = now;
      keep();
    }
    for (std::size_t i = 0; i < count_; ++i) buffers_[i].offset = kept_.items[i];
    return best;
  }

private:
  constexpr void keep() {
    for (std::size_t i = 0; i < count_; ++i) kept_.items[i] = buffers_[i].offset;
  }

  constexpr void order(importance by) {
    plain_array<std::size_t, plus(Capacity, 1)> first(count_ + 1); // the larger, the more important
    if (by == importance::peak) find_peaks(first.items);
    if (by == importance::size)
      for (std::size_t i = 0; i < count_; ++i) first.items[i] = buffers_[i].bytes;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t life = buffers_[i].death - buffers_[i].birth;
      std::size_t k = i;
      for (; k > 0; --k) {
        const buffer& other = buffers_[order_.items[k - 1]];
        const std::size_t theirs = first.items[order_.items[k - 1]];
        if (theirs > first.items[i] || (theirs == first.items[i] && other.death - other.birth >= life)) break;
        order_.items[k] = order_.items[k - 1];
      }
      order_.items[k] = i;
    }
  }

  // The most bytes alive at any time in the life of each buffer; that maximum is always at the birth of some buffer.
  constexpr void find_peaks(std::size_t* peak) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint32_t now = buffers_[i].birth;
      std::size_t live = 0;
      for (std::size_t k = 0; k < count_ && buffers_[k].birth <= now; ++k)
        if (now <= buffers_[k].death) live += buffers_[k].bytes;
      for (std::size_t k = 0; k < count_ && buffers_[k].birth <= now; ++k)
        if (now <= buffers_[k].death && peak[k] < live) peak[k] = live;
    }
  }

  constexpr void raise_highest() {
    std::size_t highest = 0;
    for (std::size_t r = 1; r < count_; ++r)
      if (buffers_[order_.items[r]].end() > buffers_[order_.items[highest]].end()) highest = r;
    const std::size_t i = order_.items[highest];
    for (std::size_t r = highest; r > 0; --r) order_.items[r] = order_.items[r - 1];
    order_.items[0] = i;
  }

  constexpr std::size_t place_all() {
    std::size_t end = 0;
    placed_ = 0;
    for (std::size_t i = 0; i < count_; ++i)
      if (buffers_[i].pinned) insert(i);
    for (std::size_t r = 0; r < count_; ++r) {
      buffer& b = buffers_[order_.items[r]];
      if (b.bytes == 0) continue;
      if (!b.pinned) {
        b.offset = lowest(b);
        insert(order_.items[r]);
      }
      if (b.end() > end) end = b.end();
    }
    return end;
  }

  // The buffers placed so far are sorted by offset, so one look at each is enough.
  constexpr std::size_t lowest(const buffer& b) const {
    std::size_t from = 0;
    for (std::size_t k = 0; k < placed_; ++k) {
      const buffer& other = buffers_[by_offset_.items[k]];
      if (other.death < b.birth || b.death < other.birth || other.end() <= from) continue;
      if (from < fence_ && from + b.bytes > fence_) from = fence_;
      if (from + b.bytes <= other.offset) return from;
      if (other.end() > from) from = other.end();
    }
    return from < fence_ && from + b.bytes > fence_ ? fence_ : from;
  }

  constexpr void insert(std::size_t i) {
    const std::size_t offset = buffers_[i].offset;
    std::size_t k = placed_++;
    for (; k > 0 && buffers_[by_offset_.items[k - 1]].offset > offset; --k) by_offset_.items[k] = by_offset_.items[k - 1];
    by_offset_.items[k] = i;
  }

  buffer* buffers_;
  std::size_t count_;
  std::size_t fence_;
  std::size_t placed_ = 0;
  plain_array<std::size_t, plus(Capacity, 1)> order_{count_ + 1}, by_offset_{count_ + 1}, kept_{count_ + 1};
};

} // namespace cairn::detail
