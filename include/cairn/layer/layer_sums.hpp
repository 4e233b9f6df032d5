// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// The number of values that a layer sums over the ranks in its forward, and in a backward that makes an input gradient.
struct summed_numbers {
  std::size_t forward = 0;
  std::size_t backward = 0; // at most as many

  constexpr bool operator==(const summed_numbers&) const = default;
};

} // namespace cairn::types

namespace cairn::detail {

// The numbers that a layer sums over all ranks, passed in forward_call and backward_call: BatchNorm's statistics under
// sync_batch_norm. Otherwise, and in an evaluation, the pointer there is null and the layer works with its own rows.
//
// The numbers belong to the layer from the first forward of a micro-batch to its backward; their count is
// sums_over_ranks(in). The first forward writes this rank's part and calls sum() for all of them. In a recompute `are_made`
// is true: the sums are there, and nothing is summed again. A backward that makes an input gradient overwrites them and sums
// once more.
//
// All ranks make the same calls in the same order, as all run the same schedule.
struct layer_sums {
  double* numbers = nullptr; // on the device
  bool are_made = false;
  void (*all_reduce)(void* self, std::size_t layer, std::size_t count) = nullptr;
  void* self = nullptr;
  std::size_t layer = 0;

  // Replaces the first `count` numbers by their sums over all ranks, for everything that is put on the queue afterwards.
  // Throws what a communicator throws.
  void sum(std::size_t count) const { all_reduce(self, layer, count); }
};

} // namespace cairn::detail
