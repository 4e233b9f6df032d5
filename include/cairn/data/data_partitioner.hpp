// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/data/permutation.hpp>
#include <cairn/data/sample_order.hpp>

namespace cairn {

struct partitioner_options {
  std::uint64_t seed = 7;
  std::uint64_t epoch = 0; // for transforms only: the parts are the same in every epoch
};

// Splits a dataset once and for all, as the data-parallel tutorials do: the indices are shuffled with the seed and
// cut into as many equal parts as there are ranks; rank r reads part r, in the same order in every epoch. What is left
// over after the division, fewer samples than ranks, is read by nobody. Models sample_order.
class data_partitioner {
public:
  template <ranked Ranks>
  explicit data_partitioner(const Ranks& ranks, partitioner_options options = {})
      : data_partitioner(ranks.rank(), ranks.size(), options) {}

  template <std::integral Rank, std::integral Size>
  data_partitioner(Rank rank, Size size, partitioner_options options = {})
      : here_(detail::checked_place(rank, size, "data_partitioner")), options_(options) {}

  std::size_t count(std::size_t samples) const { return samples / here_.size; }
  std::uint64_t epoch() const { return options_.epoch; }

  void order(std::size_t samples, std::vector<std::size_t>& indices) const {
    const std::size_t own = count(samples);
    permute(indices, samples, options_.seed, 0);
    for (std::size_t k = 0; k < own; ++k) indices[k] = indices[here_.rank * own + k];
    indices.resize(own);
  }

private:
  detail::place here_;
  partitioner_options options_;
};

} // namespace cairn
