// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/random.hpp>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/attention/attention.hpp>

// What attention_extras change of a head's scores and probabilities, on the device.
namespace cairn::detail {

// Nothing: the kernels without extras are not compiled for them.
struct no_extras_on_gpu {
  static constexpr bool are_there = false;

  // The keys of a sample that its queries may look at, of so many.
  CAIRN_DEVICE static std::size_t keys_of(std::size_t, std::size_t all) { return all; }
  CAIRN_DEVICE static bool are_wrong(std::size_t, std::size_t) { return false; }

  // Of one head. What is added to the scaled score of a query and a key, and whether their probability is dropped.
  struct of_head {};
  template <class T>
  CAIRN_DEVICE static T added_to(const of_head&, T score, std::size_t, std::size_t) {
    return score;
  }
  CAIRN_DEVICE static bool drops(const of_head&, std::size_t, std::size_t) { return false; }
  CAIRN_DEVICE of_head head_at(const attention_extents&, std::size_t, std::size_t) const { return {}; }
};

template <class T>
struct extras_on_gpu {
  static constexpr bool are_there = true;
  using wide = accumulated<T>;

  const std::int32_t* key_lengths;
  const T* added;
  std::size_t added_sample_stride, added_head_stride;
  std::uint64_t threshold;
  wide keep; // the factor of probabilities that are not dropped
  random_key random;

  explicit extras_on_gpu(const attention_extras<T>& given)
      : key_lengths(given.key_lengths), added(given.added), added_sample_stride(given.added_sample_stride),
        added_head_stride(given.added_head_stride), threshold(given.rate.threshold), keep(static_cast<wide>(given.rate.scale)),
        random(given.random) {}

  // A length that does not fit could not be reported in time: the outputs of its sample become NaN, so that it is noticed.
  CAIRN_DEVICE bool are_wrong(std::size_t sample, std::size_t all) const {
    if (key_lengths == nullptr) return false;
    return key_lengths[sample] < 0 || static_cast<std::size_t>(key_lengths[sample]) > all;
  }
  CAIRN_DEVICE std::size_t keys_of(std::size_t sample, std::size_t all) const {
    if (key_lengths == nullptr || are_wrong(sample, all)) return all;
    return static_cast<std::size_t>(key_lengths[sample]);
  }

  struct of_head {
    std::uint64_t matrix;      // where what is added to it begins
    std::uint64_t first, keys; // the element of the first query and key, and elements from one query to the next
    // The key of random numbers. It is with the head, in shared memory, as the keys of all rounds would stay in registers.
    std::uint64_t seed, step;
    std::uint32_t position;
  };
  CAIRN_DEVICE wide added_to(const of_head& head, wide score, std::size_t query, std::size_t key) const {
    return added == nullptr ? score : score + widened(added[head.matrix + query * head.keys + key]);
  }
  CAIRN_DEVICE bool drops(const of_head& head, std::size_t query, std::size_t key) const {
    if (threshold == 0) return false;
    const std::uint64_t index = head.first + query * head.keys + key;
    const philox_words words = philox(random_key{.seed = head.seed, .step = head.step, .position = head.position}, index / 4);
    const std::uint32_t low = index % 2 == 0 ? words.at[0] : words.at[1], high = index % 2 == 0 ? words.at[2] : words.at[3];
    return (index % 4 < 2 ? low : high) < threshold; // not words.at[index % 4], which would need memory
  }
  CAIRN_DEVICE of_head head_at(const attention_extents& of, std::size_t sample, std::size_t head) const {
    return {.matrix = sample * added_sample_stride + head * added_head_stride,
            .first = (sample * of.heads + head) * of.queries * of.keys,
            .keys = of.keys,
            .seed = random.seed,
            .step = random.step,
            .position = random.position};
  }
};

} // namespace cairn::detail
