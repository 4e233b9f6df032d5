// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/core/rooms.hpp>
#include <cairn/data/permutation.hpp>
#include <cairn/data/sample_order.hpp>

namespace cairn::types {

// The arguments of torch's DistributedSampler. All ranks must pass the same.
struct sampler_options {
  std::uint64_t seed = 0;
  bool shuffle = true;    // else the order of the dataset
  bool drop_last = false; // leave samples out until the ranks read equally much, instead of reading some twice
};

} // namespace cairn::types

namespace cairn {

// Shares an epoch among the ranks as torch's DistributedSampler does: all ranks make the same permutation from (seed, epoch),
// without a message, and rank r of R reads its entries r, r + R, r + 2R, … All ranks read equally much, so that all make the
// same steps. If R does not divide the number of samples, the permutation is extended by its own beginning (no sample is
// lost, fewer than R are read twice), or cut with drop_last.
//
// Interleaving, and not cutting into R pieces, makes step k of all ranks together read the same samples as step k of
// one rank with R times the batch. Models sample_order.
//
// The epoch of a sampler is the one with which a loader begins, 0 if it is left out; the loader counts on from there.
class distributed_sampler {
public:
  // `ranks` is a communicator, or anything else with rank() and size().
  template <detail::ranked Ranks>
  explicit distributed_sampler(const Ranks& ranks, types::sampler_options options = {})
      : distributed_sampler(ranks.rank(), ranks.size(), 0, options) {}
  template <detail::ranked Ranks, std::integral Epoch>
  distributed_sampler(const Ranks& ranks, Epoch epoch, types::sampler_options options = {})
      : distributed_sampler(ranks.rank(), ranks.size(), epoch, options) {}

  // No epoch by default here: sampler{0, epoch} would be a rank 0 of `epoch` ranks.
  template <std::integral Rank, std::integral Size, std::integral Epoch>
  distributed_sampler(Rank rank, Size size, Epoch epoch, types::sampler_options options = {})
      : here_(detail::checked_share(rank, size, "distributed_sampler")),
        epoch_(detail::not_negative(epoch, "distributed_sampler", "an epoch")), options_(options) {}

  // One rank that reads everything.
  distributed_sampler() = default;
  explicit distributed_sampler(types::sampler_options options) : options_(options) {}
  template <std::integral Epoch>
  explicit distributed_sampler(Epoch epoch, types::sampler_options options = {}) : distributed_sampler(0, 1, epoch, options) {}

  std::uint64_t epoch() const { return epoch_; }
  const types::sampler_options& options() const { return options_; }
  // The number of ranks that share an epoch; 1 if none was given.
  std::size_t ranks() const { return here_.size; }

  std::size_t count(std::size_t samples) const {
    const std::size_t size = here_.size;
    return samples / size + (!options_.drop_last && samples % size != 0 ? 1 : 0);
  }

  void order(std::size_t samples, std::uint64_t epoch, std::vector<std::size_t>& indices) const {
    const std::size_t own = count(samples);
    const std::size_t total = own * here_.size;
    if (options_.shuffle) detail::permute(indices, samples, options_.seed, epoch);
    else {
      indices.resize(samples);
      for (std::size_t i = 0; i < samples; ++i) indices[i] = i;
    }
    // Wraps round more than once where there are more ranks than samples: entry i is then entry i - samples.
    for (std::size_t i = samples; i < total; ++i) indices.push_back(indices[i - samples]);
    // In place: entry k is taken from k * size + rank, which is never below k.
    for (std::size_t k = 0; k < own; ++k) indices[k] = indices[k * here_.size + here_.rank];
    indices.resize(own);
  }

private:
  detail::rank_share here_;
  std::uint64_t epoch_ = 0;
  types::sampler_options options_{};
};

// The sampler that one usually takes: sampler{rank}.
using sampler = distributed_sampler;

} // namespace cairn
