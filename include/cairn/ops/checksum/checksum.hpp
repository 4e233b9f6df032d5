// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

namespace detail {

// A word of 64 bits as four numbers below 65,536, the lowest 16 bits first: float and double add them to zeros exactly.
template <class T>
CAIRN_HOST_DEVICE constexpr void write_as_numbers(T* four, std::uint64_t word) {
  for (unsigned part = 0; part < 4; ++part) four[part] = static_cast<T>(word >> (16 * part) & 0xFFFFU);
}

} // namespace detail

// A 64-bit number of the bits of x, written as four numbers below 65,536. Arrays of equal bits have equal numbers; others have
// others but for a chance of one in 2^64. Replicas on one kind of device compare their parameters by it; it need not be
// the number that another kind of device gives.
template <class T>
void checksum(detail::queue_without_this_op, T* four, const T* x, std::size_t count) = delete;

} // namespace cairn
