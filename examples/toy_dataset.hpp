// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/tensor_dataset.hpp>

// The extents of toy_dataset, as in the data-parallel tutorials.
struct toy_options {
  std::size_t inputs = 100;
  std::size_t targets = 1;
  std::uint64_t seed = 0;
};

// Pairs of random normal numbers, inputs (samples, inputs) and targets (samples, targets): there is nothing to learn, they are
// for measuring. Sample i is the same for every number of samples.
template <class T = float>
cairn::tensor_dataset<T, T> toy_dataset(std::size_t samples = 1024, toy_options options = {}) {
  std::vector<T> inputs(samples * options.inputs);
  std::vector<T> targets(samples * options.targets);
  // Keeps these numbers apart from the weights that a trainer draws from the same seed.
  const std::uint64_t seed = options.seed ^ 0xE37A90C54D12F86BU;
  cairn::ops::fill_normal(std::span<T>(inputs), cairn::types::random_key{.seed = seed, .position = 0});
  cairn::ops::fill_normal(std::span<T>(targets), cairn::types::random_key{.seed = seed, .position = 1});
  return {cairn::shape{options.inputs}, std::move(inputs), options.targets, std::move(targets)};
}
