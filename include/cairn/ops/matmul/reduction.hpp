// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The reduction of a product is cut into blocks of equal length, except the last. The length is a function of
// k alone, never of the other extents, the instruction set or the threads: it decides how sums are rounded.
// Nearly every layer has one block; longer reductions are cut because a packed block must fit into the
// scratch.
inline constexpr std::size_t longest_reduction_block = 1024;

constexpr std::size_t reduction_block(std::size_t k) {
  const std::size_t blocks = (k + longest_reduction_block - 1) / longest_reduction_block;
  return blocks <= 1 ? k : (k + blocks - 1) / blocks;
}

} // namespace cairn::detail
