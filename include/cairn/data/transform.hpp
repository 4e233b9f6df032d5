// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <cairn/core/random.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/permutation.hpp>

namespace cairn {

// A transform changes one input, in its row of the batch: augmentation, noise, a mask.
//
// A type F is a transform of T if, for a const F f, f(sample, sample_shape, key) changes the numbers of `sample` in
// place. Its random numbers come from random_bits(key, 0), random_bits(key, 1), … only: then a sample is changed
// alike by every rank, in every batch and with every number of batches ahead. It may be called from several threads.
template <class F, class T>
concept sample_transform = requires(const F& f, std::span<T> sample, const shape& sample_shape,
                                    const random_key& key) {
  f(sample, sample_shape, key);
};

namespace detail {

// The key of a sample in an epoch. It depends on neither the rank nor the place in a batch.
constexpr random_key sample_key(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample) {
  // A key's position has 32 bits; samples beyond them move on to another seed.
  return {.seed = (seed ^ transform_purpose) + (sample >> 32) * 0x9E3779B97F4A7C15U,
          .step = epoch,
          .position = static_cast<std::uint32_t>(sample)};
}

} // namespace detail

// Leaves the sample as it is.
struct no_transform {
  template <class T>
  constexpr void operator()(std::span<T>, const shape&, const random_key&) const {}
};

} // namespace cairn
