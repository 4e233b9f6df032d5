// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// Options of a loader, by name: loader{data, sampler{}, batch<64>{}, {.drop_last = true}}.
struct loader_options {
  std::size_t rows = 0;                      // samples in a batch, at most its capacity; 0: its capacity
  bool drop_last = false;                    // leave out a last batch that is not full
  std::size_t prefetch = 2;                  // batches made ahead, at least one for each thread; 0: without a thread
  std::size_t threads = 1;                   // that make them, each another one
  std::uint64_t seed = 0;                    // of the transform's random numbers
  std::chrono::milliseconds deadline{60000}; // the longest wait for one batch; then deadline_error
};

// The position of a job in its samples: the epoch, and the number of batches read in it. It is the same on all ranks, as each
// reads its own share.
struct loader_place {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;

  bool operator==(const loader_place&) const = default;
};

} // namespace cairn::types
