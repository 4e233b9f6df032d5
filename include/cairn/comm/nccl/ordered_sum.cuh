// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>

namespace cairn::detail {

// The division of a span of `count` elements among ranks. Rank r owns elements r * each … (r + 1) * each - 1. Parts are equal, as
// ncclAllGather needs, and begin at multiples of 64 bytes from the span's start. Fewer than 64 bytes and one element for each
// rank are left: every rank receives those of all others, and adds them itself.
struct equal_parts {
  std::size_t each;   // elements of a part; 0 for a small span
  std::size_t rest;   // elements after the last part
  std::size_t stride; // elements of the scratch for what one rank sends: a part and the rest

  constexpr equal_parts(std::size_t count, std::size_t element_bytes, std::size_t ranks)
      : each(count / ranks / (alignment / element_bytes) * (alignment / element_bytes)), rest(count - each * ranks),
        stride(align_up((each + rest) * element_bytes) / element_bytes) {}

  // The bytes of the scratch that a span of at most `bytes` needs on a rank: those of about one span.
  static constexpr std::size_t scratch_bytes(std::size_t bytes, std::size_t ranks) {
    constexpr std::size_t largest_element = 8;
    return (ranks - 1) * align_up(bytes / ranks + ranks * (alignment + largest_element));
  }
};

// A kernel: for every element of this rank's part, then of the rest, the sum ((rank 0 + rank 1) + rank 2) + … of the spans of all
// ranks, as comm/sum_of_ranks.hpp has it on a cpu. The spans of the other ranks are in `received`, in the order of the ranks,
// `stride` elements apart.
template <class T>
struct ordered_sum {
  T* part;           // (each)
  T* rest;           // the rest of this rank's span
  const T* received; // (ranks - 1, stride)
  std::size_t each, stride;
  int rank, ranks;

  CAIRN_DEVICE void operator()(std::size_t i) const {
    T* const own = i < each ? part + i : rest + (i - each);
    const T here = *own;
    const T* there = received + i;
    T sum = here;
    if (rank > 0) {
      sum = *there;
      there += stride;
    }
    for (int other = 1; other < ranks; ++other) {
      if (other == rank) {
        sum += here;
      } else {
        sum += *there;
        there += stride;
      }
    }
    *own = sum;
  }
};

} // namespace cairn::detail
