// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace cairn::detail {

// to = to + from; with Both, from = to as well. The trip count of the inner loop is a constant because g++ -O2 vectorizes no
// other loops. Plain vectors of 16 bytes already keep up with the memory that the spans come from.
template <bool Both, class T>
void add_span(T* __restrict to, std::conditional_t<Both, T, const T>* __restrict from, std::size_t count) {
  constexpr std::size_t step = 64;
  std::size_t i = 0;
  for (; i + step <= count; i += step)
    for (std::size_t j = 0; j < step; ++j) {
      to[i + j] += from[i + j];
      if constexpr (Both) from[i + j] = to[i + j];
    }
  for (; i < count; ++i) {
    to[i] += from[i];
    if constexpr (Both) from[i] = to[i];
  }
}

// Replaces elements first … last - 1 of every rank's span by ((rank 0 + rank 1) + rank 2) + …. The order is always the same, so
// the bits depend neither on the thread that computes them nor on how a span was cut. span_of(rank) is the start of that rank's
// span.
//
// The sum is computed in rank 0's span, in blocks that stay in the first-level cache until they have been copied to the other
// ranks: each span is read from memory once and written once.
template <class T, class SpanOf>
void sum_of_ranks(int ranks, const SpanOf& span_of, std::size_t first, std::size_t last) {
  constexpr std::size_t block = 4096 / sizeof(T);
  for (; first < last; first += std::min(block, last - first)) {
    const std::size_t count = std::min(block, last - first);
    T* const sum = span_of(0) + first;
    for (int rank = 1; rank + 1 < ranks; ++rank) add_span<false>(sum, span_of(rank) + first, count);
    if (ranks > 1) add_span<true>(sum, span_of(ranks - 1) + first, count);
    for (int rank = 1; rank + 1 < ranks; ++rank) std::copy_n(sum, count, span_of(rank) + first);
  }
}

} // namespace cairn::detail
