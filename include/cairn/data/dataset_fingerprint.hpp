// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/input_types.hpp>
#include <cairn/data/minibatch.hpp>

namespace cairn::detail {

// The number of samples that are read for a fingerprint: the first, the last and others at equal distances between them.
inline constexpr std::size_t fingerprint_samples = 64;

// The index of sample k of those, in a dataset of more than that many.
constexpr std::size_t fingerprint_sample(std::size_t k, std::size_t size) {
  constexpr std::size_t gaps = fingerprint_samples - 1;
  return (size - 1) / gaps * k + (size - 1) % gaps * k / gaps; // the product of k and size may leave 64 bits
}

inline std::uint64_t checksum_of_words(const std::vector<std::uint64_t>& words) {
  return quick_checksum(std::as_bytes(std::span(words)));
}

// Not the type's name: compilers spell it differently.
template <class T>
constexpr std::uint64_t word_of_element =
    sizeof(T) << 2 | std::uint64_t{std::is_integral_v<T>} << 1 | std::uint64_t{std::is_signed_v<T>};

template <class Inputs>
struct words_of_elements;
template <class... Inputs>
struct words_of_elements<pack<Inputs...>> {
  static constexpr std::array<std::uint64_t, sizeof...(Inputs)> value{word_of_element<Inputs>...};
};

// Adds a word for each of those samples. Each is read twice: false if the two reads differ or one throws, because such a
// dataset has no fingerprint. Uses memory for one sample only.
template <class Dataset, std::size_t... K>
bool add_samples(const Dataset& data, std::vector<std::uint64_t>& words, std::index_sequence<K...>) {
  const batch_buffer<typename Dataset::input_type, typename Dataset::target_type> row(1, shapes_of(data),
                                                                                      data.targets_per_sample());
  const auto word_of = [&](std::size_t sample) {
    std::tuple inputs{row.template input<K>(0)...};
    auto targets = row.targets(0);
    data.read(sample, std::get<K>(inputs)..., targets);
    const std::array<std::uint64_t, sizeof...(K) + 1> each{quick_checksum(std::as_bytes(std::get<K>(inputs)))...,
                                                           quick_checksum(std::as_bytes(targets))};
    return quick_checksum(std::as_bytes(std::span(each)));
  };
  const std::size_t size = data.size(), count = std::min(size, fingerprint_samples);
  try {
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t sample = size <= fingerprint_samples ? k : fingerprint_sample(k, size);
      words.push_back(word_of(sample));
      if (word_of(sample) != words.back()) return false;
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) { // training may never read this sample
    return false;
  }
  return true;
}

// A hash that distinguishes a dataset from others: of its size, the shapes and types of a sample, and either its
// fingerprint() or the contents of some samples. 0 if there is none. Equal on machines of the same byte order.
template <class Dataset>
std::uint64_t fingerprint_of(const Dataset& data) {
  using inputs = inputs_of<typename Dataset::input_type>;
  std::vector<std::uint64_t> words{data.size(), data.targets_per_sample(), word_of_element<typename Dataset::target_type>};
  for (const std::uint64_t word : words_of_elements<typename inputs::elements>::value) words.push_back(word);
  for (const shape& each : shapes_of(data)) {
    words.push_back(each.rank);
    for (std::size_t axis = 0; axis < each.rank; ++axis) words.push_back(each[axis]);
  }
  if constexpr (fingerprinted_dataset<Dataset>) {
    words.push_back(data.fingerprint());
    if (words.back() == 0) return 0;
  } else if (!add_samples(data, words, typename inputs::positions{})) {
    return 0;
  }
  return std::max<std::uint64_t>(checksum_of_words(words), 1);
}

} // namespace cairn::detail
