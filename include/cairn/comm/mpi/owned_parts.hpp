// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cairn::detail {

// The division of a span into parts, each of which one rank owns. The owner receives its part of all other ranks, sums them in
// the order of the ranks, and sends the sum back. So every rank sends and receives 2 (ranks - 1) / ranks times the bytes of the
// span, as in a ring, with the latency of two messages and not of 2 (ranks - 1).
//
// A part has at least `least_bytes`: a small span has fewer owners, which change from call to call.
struct owned_parts {
  static constexpr std::size_t least_bytes = 4096;
  static constexpr std::size_t line_bytes = 64; // parts begin at multiples of it

  std::size_t count;  // elements of the span
  std::size_t each;   // of a part; the last one may have fewer
  std::size_t owners; // 1 or more, so that all ranks make a call without elements too
  std::size_t first;  // the rank that owns the first part
  std::size_t ranks;

  constexpr owned_parts(std::size_t elements, std::size_t element_bytes, std::size_t all_ranks, std::uint64_t call)
      : count(elements), each(part(elements, element_bytes, all_ranks)),
        owners(std::max<std::size_t>(1, (elements + each - 1) / each)), first(static_cast<std::size_t>(call % all_ranks)),
        ranks(all_ranks) {}

  // A rank that owns no part has an empty one.
  constexpr bool owns(std::size_t rank) const { return place(rank) < owners; }
  constexpr std::size_t begin(std::size_t rank) const { return std::min(count, place(rank) * each); }
  constexpr std::size_t end(std::size_t rank) const {
    return owns(rank) ? std::min(count, (place(rank) + 1) * each) : begin(rank);
  }

  // The most bytes that a part of a span of `span_bytes` has.
  static constexpr std::size_t most_bytes(std::size_t span_bytes, std::size_t all_ranks) {
    return std::min(span_bytes, std::max(least_bytes, span_bytes / all_ranks + 2 * line_bytes));
  }

private:
  constexpr std::size_t place(std::size_t rank) const { return (rank + ranks - first) % ranks; }

  static constexpr std::size_t part(std::size_t elements, std::size_t element_bytes, std::size_t all_ranks) {
    const std::size_t line = line_bytes / element_bytes;
    const std::size_t share = std::max((elements + all_ranks - 1) / all_ranks, least_bytes / element_bytes);
    return (share + line - 1) / line * line;
  }
};

} // namespace cairn::detail
