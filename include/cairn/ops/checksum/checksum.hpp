// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::detail {

// Writes a 64-bit word as four numbers below 65,536, the lowest 16 bits first: float and double add them to zeros exactly.
template <class T>
CAIRN_HOST_DEVICE constexpr void write_as_numbers(T* four, std::uint64_t word) {
  for (unsigned part = 0; part < 4; ++part) four[part] = static_cast<T>(word >> (16 * part) & 0xFFFFU);
}

} // namespace cairn::detail

namespace cairn::ops {

// A 64-bit checksum of the bits of x, written as four numbers below 65,536. Arrays with equal bits have equal checksums; others
// differ but for a chance of one in 2^64. Replicas on the same kind of device compare their parameters by it. Another kind of
// device may compute another checksum.
template <class T>
void checksum(detail::queue_without_this_op, T* four, const T* x, std::size_t count) = delete;

} // namespace cairn::ops
