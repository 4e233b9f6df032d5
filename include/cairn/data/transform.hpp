// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/input_types.hpp>
#include <cairn/data/permutation.hpp>

namespace cairn::detail {

template <class F, class Inputs>
constexpr bool transforms = false;
template <class F, class T>
constexpr bool transforms<F, pack<T>> = requires(const F& f, const shape& sample_shape, const random_key& key) {
  f(std::declval<std::span<T>&>(), sample_shape, key);
};
template <class F, class... T>
constexpr bool transforms<F, pack<T...>> = requires(const F& f, const std::array<shape, sizeof...(T)>& shapes,
                                                    const random_key& key) { f(std::declval<std::span<T>&>()..., shapes, key); };

// A transform changes one input, in its row of the batch: augmentation, noise, a mask.
//
// A type F is a transform of T if, for a const F f, f(sample, sample_shape, key) changes the numbers of `sample` in place.
// Its random numbers come from random_bits(key, 0), random_bits(key, 1), … only, so that a sample is changed alike by every
// rank, in every batch and with every number of batches ahead. It may be called from several threads.
//
// For samples with several inputs it gets all of them, so that an image and its mask move together, by f(image, mask, shapes,
// key), where shapes is the array of their shapes; T is input_types<...>.
template <class F, class T>
concept sample_transform = transforms<F, typename inputs_of<T>::elements>;

template <class F, class Inputs, class Target>
constexpr bool transforms_targets = false;
template <class F, class T, class Target>
constexpr bool transforms_targets<F, pack<T>, Target> = requires(const F& f, const shape& sample_shape, const random_key& key) {
  f(std::declval<std::span<T>&>(), std::declval<std::span<Target>&>(), sample_shape, key);
};
template <class F, class... T, class Target>
constexpr bool transforms_targets<F, pack<T...>, Target> =
    requires(const F& f, const std::array<shape, sizeof...(T)>& shapes, const random_key& key) {
      f(std::declval<std::span<T>&>()..., std::declval<std::span<Target>&>(), shapes, key);
    };

// A transform of samples and their targets together, such as one that replaces some tokens and makes those that were there the
// targets: f(sample, targets, sample_shape, key), and of several inputs f(image, mask, targets, shapes, key). A type that can be
// called both ways is a transform of samples.
template <class F, class T, class Target>
concept sample_and_target_transform = !sample_transform<F, T> && transforms_targets<F, typename inputs_of<T>::elements, Target>;

// The key of a sample in an epoch. It depends on neither the rank nor the place in a batch.
constexpr random_key sample_key(std::uint64_t seed, std::uint64_t epoch, std::uint64_t sample) {
  // A key's position has 32 bits; samples beyond them move on to another seed.
  return {.seed = (seed ^ transform_purpose) + (sample >> 32) * 0x9E3779B97F4A7C15U,
          .step = epoch,
          .position = static_cast<std::uint32_t>(sample)};
}

// Leaves the sample as it is.
struct no_transform {
  constexpr void operator()(const auto&...) const {}
};

} // namespace cairn::detail
