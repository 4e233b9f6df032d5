// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The reduction of a product is cut into blocks, and these into chains. Both lengths are functions of k alone, never of the
// other extents, the instruction set or the threads: they decide how sums are rounded. A chain starts from zero, a block is
// the sum of its chains and the reduction that of its blocks, each in ascending order.
//
// Chains are short because the error of a sum grows with the root of its length: over 4096 random products one chain is off by
// 1.2e-6 of the norm, chains of 1024 by 5.8e-7, of 256 by 2.9e-7, of 128 by 2.1e-7 and of 64 by 1.7e-7. Chains of 64 cost 2 % of
// the time, chains of 128 nothing.
inline constexpr std::size_t reduction_chain = 128;

// Blocks have equal numbers of chains, except the last. Nearly every layer has one block; longer reductions are cut because
// a packed block must fit into the scratch.
inline constexpr std::size_t longest_reduction_block = 1024;

constexpr std::size_t reduction_block(std::size_t k) {
  const std::size_t blocks = (k + longest_reduction_block - 1) / longest_reduction_block;
  if (blocks <= 1) return k;
  const std::size_t length = (k + blocks - 1) / blocks;
  return (length + reduction_chain - 1) / reduction_chain * reduction_chain;
}

} // namespace cairn::detail

CAIRN_KERNELS_END
