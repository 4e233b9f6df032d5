// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/data/permutation.hpp>
#include <cairn/data/sample_order.hpp>
#include <cairn/data/subset.hpp>

namespace cairn::detail {

// The lengths of parts that are given as shares of the whole. As in torch, each is rounded down, and the remainder goes to
// the first parts, one sample each.
template <std::size_t N>
std::array<std::size_t, N> lengths_of_shares(std::size_t size, const std::array<double, N>& shares) {
  std::array<std::size_t, N> lengths{};
  double sum = 0;
  std::size_t used = 0;
  for (std::size_t part = 0; part < N; ++part) {
    if (!(shares[part] >= 0 && shares[part] <= 1))
      throw input_error("random_split: expected shares from 0 to 1, found " + std::to_string(shares[part]) + " for part " +
                        std::to_string(part));
    sum += shares[part];
    lengths[part] = static_cast<std::size_t>(std::floor(static_cast<double>(size) * shares[part]));
    used += lengths[part];
  }
  if (!(std::abs(sum - 1) < 1e-6)) // allows for float, such as 0.9F and 0.1F
    throw input_error("random_split: expected shares whose sum is 1, found " + std::to_string(sum));
  for (std::size_t part = 0; used < size; part = (part + 1) % N, ++used) ++lengths[part];
  return lengths;
}

template <class Dataset, std::size_t N, std::size_t... Parts>
std::array<subset<Dataset>, N> split_by(const Dataset& data, const std::array<std::size_t, N>& lengths, seed given,
                                        std::index_sequence<Parts...>) {
  std::vector<std::size_t> order;
  permute(order, data.size(), given.value ^ split_purpose, 0);
  std::size_t next = 0;
  const auto take = [&](std::size_t length) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(std::exchange(next, next + length));
    return std::vector<std::size_t>(first, first + static_cast<std::ptrdiff_t>(length));
  };
  return {subset<Dataset>(data, take(lengths[Parts]))...}; // braces evaluate in the order of the parts
}

template <class Dataset, std::size_t N>
std::array<subset<Dataset>, N> split_by(const Dataset& data, const std::array<std::size_t, N>& lengths, seed given) {
  std::size_t sum = 0;
  bool fits = true;
  for (const std::size_t length : lengths) {
    fits = fits && length <= data.size() - sum;
    if (fits) sum += length;
  }
  if (!fits || sum != data.size())
    throw input_error("random_split: expected lengths whose sum is the " + std::to_string(data.size()) +
                      " samples of the dataset, found " + (fits ? std::to_string(sum) : "more") +
                      "; a subset leaves samples out");
  return split_by(data, lengths, given, std::make_index_sequence<N>{});
}

} // namespace cairn::detail

namespace cairn {

// Splits a dataset at random, each sample into one part, as torch's random_split. The parts are given as lengths, whose sum
// is the number of samples, or as shares, whose sum is 1.
//
//   const auto parts = random_split(digits.train, {0.9, 0.1}, seed{7});
//   loader batches{parts[0], sampler{rank}, batch<64>{}};  // parts[1] to validate with
//
// Equal seeds give equal parts, on every rank and every machine. The dataset has to outlive the parts.
template <class Dataset, class Number, std::size_t N>
  requires(std::integral<Number> || std::floating_point<Number>)
std::array<subset<Dataset>, N> random_split(const Dataset& data, const Number (&parts)[N], seed given = {}) {
  if constexpr (std::floating_point<Number>) {
    std::array<double, N> shares{};
    for (std::size_t part = 0; part < N; ++part) shares[part] = static_cast<double>(parts[part]);
    return detail::split_by(data, detail::lengths_of_shares(data.size(), shares), given);
  } else {
    std::array<std::size_t, N> lengths{};
    for (std::size_t part = 0; part < N; ++part)
      lengths[part] = static_cast<std::size_t>(detail::not_negative(parts[part], "random_split", "a length"));
    return detail::split_by(data, lengths, given);
  }
}

// For lengths of different integer types: {data.size() - 1000, 1000}.
template <class Dataset, std::size_t N>
std::array<subset<Dataset>, N> random_split(const Dataset& data, const std::size_t (&lengths)[N], seed given = {}) {
  return detail::split_by(data, std::to_array(lengths), given);
}

// A temporary dataset would be gone before the first sample is read.
template <class Dataset, class Number, std::size_t N>
  requires(std::integral<Number> || std::floating_point<Number>)
void random_split(const Dataset&&, const Number (&)[N], seed = {}) = delete;
template <class Dataset, std::size_t N>
void random_split(const Dataset&&, const std::size_t (&)[N], seed = {}) = delete;

} // namespace cairn
