// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/plan/buckets.hpp>
#include <cairn/plan/chain.hpp>

namespace cairn::detail {

// When training uses its gradients: all of them after the backward pass, or each bucket of at most Bytes during it, with
// InFlight buckets there at a time.
struct used_after_backward {
  static constexpr bool fused = false;
};
// For a frozen part of a network, which has no gradients.
struct never_used {
  static constexpr bool fused = false;
};
template <std::size_t Bytes, std::size_t InFlight>
struct used_in_backward {
  static constexpr bool fused = true;
  static constexpr std::size_t bytes = Bytes;
  static constexpr std::size_t in_flight = InFlight;
};

// The windows that hold the gradients of a network when each bucket is used up in the backward pass, and the window of each
// bucket. Both are in the order of the backward pass.
template <std::size_t Buckets>
struct window_plan {
  std::array<gradient_window, Buckets + 1> storage{};
  std::array<std::uint32_t, Buckets + 1> of_bucket{};
  std::size_t count = 0;

  constexpr std::span<const gradient_window> windows() const { return {storage.data(), count}; }
};

// Makes a window for each bucket; buckets are cut between layers. `stage_begin[i]` is where the gradients of stage i begin in
// the flat order; `element` is the size of one element. With `in_flight` = 1 a bucket is used as soon as it is complete. With 2
// it is used as soon as the next one is complete, so that its sum over the ranks has the backward of one bucket to arrive; the
// last one is used at the end.
//
// A window lives for whole ops of the root, and one op may be the backward of a block of many layers. At most `in_flight` of
// the buckets that begin and end in that op are there at a time, so every `in_flight`-th of them has the same window.
template <std::size_t Buckets>
constexpr window_plan<Buckets> make_windows(std::span<const bucket> buckets, std::span<const std::size_t> stage_begin,
                                            std::size_t stages, std::size_t element, std::size_t in_flight) {
  window_plan<Buckets> out{};
  std::array<std::uint32_t, Buckets + 1> first{}; // the stage that writes the first element of a bucket
  std::array<std::uint32_t, Buckets + 1> last{};
  std::size_t at = stages; // the stages from here up have been looked at
  const auto stage_of = [&](std::size_t number) {
    while (at == stages || (at > 0 && stage_begin[at - 1] <= number)) --at;
    return static_cast<std::uint32_t>(at);
  };
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    first[b] = stage_of(buckets[b].begin);
    last[b] = stage_of(buckets[b].end - 1);
  }
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const std::size_t bytes = buckets[b].size() * element;
    const std::size_t used = b + in_flight - 1 < buckets.size() ? b + in_flight - 1 : buckets.size() - 1;
    if (b >= in_flight) {
      const std::uint32_t before = out.of_bucket[b - in_flight];
      gradient_window& w = out.storage[before];
      if (w.from == w.to && w.to == first[b]) {
        out.of_bucket[b] = before;
        w.to = last[used];
        if (w.bytes < bytes) w.bytes = bytes;
        continue;
      }
    }
    out.storage[out.count] = {bytes, first[b], last[used]};
    out.of_bucket[b] = static_cast<std::uint32_t>(out.count++);
  }
  return out;
}

} // namespace cairn::detail
