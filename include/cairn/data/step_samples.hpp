// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The samples that one rank reads in an epoch, and how its steps are made of them.
struct rank_steps {
  std::span<const std::size_t> order; // its samples, one after another
  std::size_t rows = 1;               // samples in a batch
  bool drop_last = false;             // leaves out a last batch that is not full
  std::size_t micro_batches = 1;      // batches in a step; the last step may have fewer
  std::size_t ranks = 1;              // that make each step together
};

// A rank's share of a hash of the samples that the steps of an epoch see. The sum of the shares of all ranks (modulo 2^64) is
// the same for any number of ranks whose steps see the same samples with the same weights. The order of the samples within a
// step, and the rank of each, do not matter: the sum of their gradients is the same up to rounding. `facts` is a hash of what
// all samples have in common.
//
// A step is the mean over the means of its micro-batches: the weight of a sample is one over the number of micro-batches of
// all ranks times the rows of its batch.
inline std::uint64_t share_of_steps(const rank_steps& its, std::uint64_t facts) {
  const auto mixed = [](std::uint64_t z) { // the finaliser of SplitMix64: Steele, Lea, Flood, 2014
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  };
  const std::size_t all = its.order.size(), full = all / its.rows;
  const std::size_t batches = full + (!its.drop_last && all % its.rows != 0 ? 1 : 0);
  std::uint64_t sum = 0;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const std::size_t step = batch / its.micro_batches, begin = batch * its.rows;
    const std::size_t together = std::min(its.micro_batches, batches - step * its.micro_batches);
    const std::size_t rows = std::min(its.rows, all - begin);
    const std::uint64_t where = mixed(facts + mixed(step + 1) + mixed(~(std::uint64_t{together} * its.ranks * rows)));
    for (const std::size_t sample : its.order.subspan(begin, rows)) sum += mixed(where ^ mixed(sample + 1));
  }
  return sum;
}

} // namespace cairn::detail
