// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn {

// How many numbers a layer sums over the ranks in its forward, and in a backward that makes an input gradient.
struct summed_numbers {
  std::size_t forward = 0;
  std::size_t backward = 0; // at most as many

  constexpr bool operator==(const summed_numbers&) const = default;
};

// What a layer has summed over all ranks, as forward_call and backward_call lend it: BatchNorm's statistics under
// sync_batch_norm. Without that, and in an evaluation, they are null, and a layer works with its own rows.
//
// The numbers are the layer's own from the first forward of a micro-batch to its backward, as many as its sums_over_ranks(in)
// says. The first forward writes what this rank has of them and calls sum() of them all. Where a policy makes the forward again,
// `are_made` is true: they are there, and nothing is summed again. A backward that makes an input gradient writes over them and
// sums once more.
//
// All ranks make the same calls in the same order, as all run the same schedule.
struct layer_sums {
  double* numbers = nullptr; // on the device
  bool are_made = false;
  void (*all_reduce)(void* self, std::size_t layer, std::size_t count) = nullptr;
  void* self = nullptr;
  std::size_t layer = 0;

  // What is put on the queue afterwards finds the first `count` numbers replaced by their sums over all ranks. It throws what a
  // communicator throws.
  void sum(std::size_t count) const { all_reduce(self, layer, count); }
};

} // namespace cairn
