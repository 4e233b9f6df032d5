// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/samples.hpp>

namespace cairn::detail {

// The outputs of a network: a tensor_view, or another type with rows of one shape.
template <class Outputs>
concept scores = numbers<Outputs> && requires(const Outputs& outputs) {
  { outputs.sample_shape().last() } -> std::convertible_to<std::size_t>;
};

// A range of batches of inputs and targets, such as a loader.
template <class Loader>
concept gives_batches = requires(Loader& all, const typename std::remove_cvref_t<Loader>::value_type& one) {
  all.begin() == all.end();
  one.inputs;
  one.targets;
};

template <class T>
std::size_t place_of_largest(const T* from, std::size_t count) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i)
    if (from[i] > from[best] || (from[i] != from[i] && from[best] == from[best])) best = i;
  return best;
}

// The number of targets that are the argmax of their outputs.
template <scores Outputs, numbers Targets>
std::size_t count_right(const Outputs& outputs, const Targets& targets) {
  static_assert(std::integral<number_of<Targets>>, "accuracy: targets are class numbers, which are integers");
  const std::size_t classes = outputs.sample_shape().last();
  if (classes < 2)
    throw input_error("accuracy: expected outputs for 2 classes or more, found " + std::to_string(classes) +
                      ", of which the largest is always right; compare a single logit with 0");
  const std::size_t decisions = outputs.size() / classes;
  if (static_cast<std::size_t>(targets.size()) != decisions)
    throw input_error("accuracy: expected a target for each of the " + std::to_string(decisions) + " decisions among " +
                      std::to_string(classes) + " classes, found " + std::to_string(targets.size()));
  std::size_t right = 0;
  for (std::size_t i = 0; i < decisions; ++i) {
    const std::size_t found = place_of_largest(outputs.data() + i * classes, classes);
    if (std::cmp_equal(found, +first_number(targets)[i])) ++right;
  }
  return right;
}

inline double share_of(std::size_t right, std::size_t all) {
  if (all == 0) throw input_error("accuracy: expected at least one sample, found none");
  return static_cast<double>(right) / static_cast<double>(all);
}

} // namespace cairn::detail

namespace cairn {

// The index of the largest output along the innermost extent, as torch.argmax with dim=-1: one for each row, or for each
// index before the innermost. Of equal outputs the first is taken; a NaN counts as the largest.
template <detail::scores Outputs>
std::vector<std::size_t> argmax(const Outputs& outputs) {
  const std::size_t classes = outputs.sample_shape().last();
  std::vector<std::size_t> places(classes == 0 ? 0 : outputs.size() / classes);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = detail::place_of_largest(outputs.data() + i * classes, classes);
  return places;
}

// The share, 0 … 1, of targets that are the argmax of their outputs: accuracy(train.evaluate(images), labels).
template <detail::scores Outputs, detail::numbers Targets>
double accuracy(const Outputs& outputs, const Targets& targets) {
  return detail::share_of(detail::count_right(outputs, targets), static_cast<std::size_t>(targets.size()));
}

// The accuracy of a trainer or a model over all samples of a loader, with equal weight for every target:
//
//   accuracy(train, loader{digits.test, sequential_sampler{}, batch<64>{}})
//
// With several ranks, each returns the accuracy over the samples of its own loader.
template <class Model, detail::gives_batches Loader>
double accuracy(Model& net, Loader&& all) {
  std::size_t right = 0;
  std::size_t decisions = 0;
  for (const auto& batch : all) {
    right += detail::with_inputs(batch.inputs,
                                 [&](const auto& inputs) { return detail::count_right(net.evaluate(inputs), batch.targets); });
    decisions += batch.targets.size();
  }
  return detail::share_of(right, decisions);
}

} // namespace cairn
