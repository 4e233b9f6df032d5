// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/train/fit/decisions.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/samples.hpp>

namespace cairn::detail {

// A range of batches of inputs and targets, such as a loader.
template <class Loader>
concept gives_batches = requires(Loader& all, const typename std::remove_cvref_t<Loader>::value_type& one) {
  all.begin() == all.end();
  one.inputs;
  one.targets;
};

// The targets that are the argmax of their outputs, and all that count.
struct right_of_all {
  std::size_t right = 0;
  std::size_t all = 0;
};
template <scores Outputs, numbers Targets>
right_of_all count_right(const Outputs& outputs, const Targets& targets, std::int64_t ignore_index = counts_all) {
  right_of_all found;
  for_each_decision("accuracy", outputs, targets, ignore_index, [&](const auto* of, std::size_t classes, auto target) {
    ++found.all;
    if (std::cmp_equal(place_of_largest(of, classes), target)) ++found.right;
  });
  return found;
}

inline double share_of(right_of_all found) {
  if (found.all == 0) throw input_error("accuracy: expected at least one sample, found none");
  return static_cast<double>(found.right) / static_cast<double>(found.all);
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
  return detail::share_of(detail::count_right(outputs, targets));
}

// The accuracy of a trainer or a model over all samples of a loader, with equal weight for every target:
//
//   accuracy(train, loader{digits.test, sequential_sampler{}, batch<64>{}})
//
// With several ranks, each returns the accuracy over the samples of its own loader.
template <class Model, detail::gives_batches Loader>
double accuracy(Model& net, Loader&& all) {
  detail::right_of_all sum;
  for (const auto& batch : all) {
    const detail::right_of_all found = detail::with_inputs(
        batch.inputs, [&](const auto& inputs) { return detail::count_right(net.evaluate(inputs), batch.targets); });
    sum.right += found.right;
    sum.all += found.all;
  }
  return detail::share_of(sum);
}

} // namespace cairn
