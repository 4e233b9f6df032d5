// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/layout/buffer.hpp>

namespace cairn::detail {

// Arranges buffers of which nearly all have one size, as in a network of equal layers. Memory is cut into slots of that size,
// and each buffer takes a free one when it is born. This needs as many slots as buffers live at once, the least possible
// (intervals are coloured in this way with the fewest colours). The few buffers of other sizes come after, each at the lowest
// free place. place() returns the extent, or no_fence if that is above `bound` or if more than `few` buffers have other sizes:
// then other attempts follow, and this one has cost little.
template <std::size_t Capacity>
class equal_slots {
public:
  static constexpr std::size_t few = 8;

  constexpr equal_slots(buffer* buffers, std::size_t count)
      : buffers_(buffers), count_(count), death_(count + 1), used_(count + 1), free_(count + 1) {}
  equal_slots(const equal_slots&) = delete;
  equal_slots& operator=(const equal_slots&) = delete;

  constexpr std::size_t place(std::size_t bound) {
    if (!find_unit() || !place_equal(bound / unit_)) return no_fence;
    for (std::size_t k = 0; k < others_; ++k) place_other(k);
    return extent_ <= bound ? extent_ : no_fence;
  }

private:
  // The size of most buffers, found by a vote: a size that more than half of them have wins.
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

  // Slots in use are sorted by the time at which they become free, the next one last: lifetimes nest, so a new slot nearly
  // always belongs there too. Free slots are on a stack.
  constexpr bool place_equal(std::size_t most) {
    std::uint32_t* const death = death_.items; // of the buffers in use
    std::size_t* const at = used_.items;
    std::size_t* const free = free_.items;
    std::size_t slots = 0;
    std::size_t in_use = 0;
    std::size_t are_free = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      buffer& b = buffers_[i];
      if (b.bytes != unit_) continue;
      for (; in_use > 0 && death[in_use - 1] < b.birth; --in_use) free[are_free++] = at[in_use - 1];
      if (are_free == 0 && slots == most) return false;
      b.offset = are_free > 0 ? free[--are_free] : slots++ * unit_;
      std::size_t rank = in_use++;
      for (; rank > 0 && death[rank - 1] < b.death; --rank) {
        death[rank] = death[rank - 1];
        at[rank] = at[rank - 1];
      }
      death[rank] = b.death;
      at[rank] = b.offset;
    }
    slots_ = slots;
    extent_ = slots * unit_;
    return true;
  }

  // Places a buffer of another size, at the lowest place that is free for as long as it lives.
  constexpr void place_other(std::size_t k) {
    buffer& b = buffers_[other_[k]];
    std::uint32_t* const taken = death_.items; // 1 + k: a slot that is not free
    const auto mark = static_cast<std::uint32_t>(k + 1);
    const std::size_t slots = slots_;
    for (std::size_t s = 0; k == 0 && s < slots; ++s) taken[s] = 0;
    for (std::size_t i = 0; i < count_; ++i)
      if (buffers_[i].birth <= b.death && b.birth <= buffers_[i].death && buffers_[i].bytes == unit_)
        taken[buffers_[i].offset / unit_] = mark;
    b.offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = b.offset / unit_; s < slots && s * unit_ < b.end(); ++s)
        if (taken[s] == mark) b.offset = (s + 1) * unit_;
      for (std::size_t e = 0; e < k; ++e) {
        const buffer& other = buffers_[other_[e]];
        if (!other.meets(b) || !other.overlaps(b)) continue;
        b.offset = other.end();
        moved = true;
      }
    }
    if (b.end() > extent_) extent_ = b.end();
  }

  buffer* buffers_;
  std::size_t count_;
  std::size_t unit_ = 0;
  std::size_t other_[few]{}; // those of other sizes
  std::size_t others_ = 0;
  std::size_t slots_ = 0;
  std::size_t extent_ = 0;
  plain_array<std::uint32_t, plus(Capacity, 1)> death_;
  plain_array<std::size_t, plus(Capacity, 1)> used_, free_; // offsets of slots
};

} // namespace cairn::detail
