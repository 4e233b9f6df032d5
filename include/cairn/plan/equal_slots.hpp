// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/list.hpp>
#include <cairn/plan/buffer.hpp>

namespace cairn::detail {

// Where nearly all buffers have one size, as in a network of equal layers, memory is cut into slots of that size, and each
// buffer takes a free one when it is born: as many slots as live at once, which is the least possible (intervals are
// coloured so with the fewest colours). The few of other sizes come after, each at the lowest free place. Returns the
// extent, or no_fence if it would be above `bound` or more than a few have other sizes: then others have to try, and it
// has cost little.
template <std::size_t Capacity>
class equal_slots {
public:
  static constexpr std::size_t few = 8;

  constexpr equal_slots(buffer* buffers, std::size_t count)
      : buffers_(buffers), count_(count), room_(count + 1) {}
  equal_slots(const equal_slots&) = delete;
  equal_slots& operator=(const equal_slots&) = delete;

  constexpr std::size_t place(std::size_t bound) {
    if (!find_unit() || !place_equal(bound / unit_)) return no_fence;
    for (std::size_t k = 0; k < others_; ++k) place_other(k);
    return extent_ <= bound ? extent_ : no_fence;
  }

private:
  // The size of most, found by a vote: whatever more than half of them have is left over.
  constexpr bool find_unit() {
    std::size_t votes = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (buffers_[i].pinned) return false;
      if (votes == 0) unit_ = buffers_[i].bytes;
      votes = buffers_[i].bytes == unit_ ? votes + 1 : votes - 1;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (buffers_[i].bytes == unit_) continue;
      if (others_ == few) return false;
      other_[others_++] = i;
    }
    return unit_ != 0;
  }

  constexpr bool place_equal(std::size_t most) {
    std::uint32_t* const death = room_.data(); // of the last one in each slot
    std::size_t slots = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      buffer& b = buffers_[i];
      if (b.bytes != unit_) continue;
      const std::uint32_t birth = b.birth;
      std::size_t s = slots; // from the top, where those are that live for a moment
      while (s > 0 && death[s - 1] >= birth) --s;
      if (s == 0) {
        if (slots == most) return false;
        s = ++slots;
      }
      death[s - 1] = b.death;
      b.offset = (s - 1) * unit_;
    }
    extent_ = slots * unit_;
    return true;
  }

  // At the lowest place that is free for as long as it lives.
  constexpr void place_other(std::size_t k) {
    buffer& b = buffers_[other_[k]];
    std::uint32_t* const near = room_.data();
    std::size_t met = 0;
    for (std::size_t i = 0; i < count_; ++i)
      if (buffers_[i].birth <= b.death && b.birth <= buffers_[i].death && buffers_[i].bytes == unit_)
        near[met++] = static_cast<std::uint32_t>(i);
    for (std::size_t e = 0; e < k; ++e)
      if (buffers_[other_[e]].meets(b)) near[met++] = static_cast<std::uint32_t>(other_[e]);
    b.offset = 0;
    for (std::size_t m = 0; m < met;) {
      const buffer& taken = buffers_[near[m++]];
      if (!taken.overlaps(b)) continue;
      b.offset = taken.end();
      m = 0;
    }
    if (b.end() > extent_) extent_ = b.end();
  }

  buffer* buffers_;
  std::size_t count_;
  std::size_t unit_ = 0;
  std::size_t other_[few]{}; // those of other sizes
  std::size_t others_ = 0;
  std::size_t extent_ = 0;
  list<std::uint32_t, with(Capacity, 1)> room_;
};

} // namespace cairn::detail
