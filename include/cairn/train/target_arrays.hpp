// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <tuple>

#include <cairn/core/rooms.hpp>
#include <cairn/train/samples.hpp>

namespace cairn::detail {

// References to the targets of several heads. Nothing is copied.
template <numbers... Arrays>
struct target_arrays {
  std::tuple<const Arrays&...> arrays;
};

} // namespace cairn::detail

namespace cairn::multi {

// The targets of a step with multi::losses, an array for each loss in their order: step(inputs, multi::targets(labels, boxes)).
// Each may have numbers of another type. They are read in place, and have to live as long as the step.
template <detail::numbers... Arrays>
detail::target_arrays<Arrays...> targets(const Arrays&... arrays) {
  return {std::tie(arrays...)};
}

} // namespace cairn::multi

namespace cairn::detail {

// The targets of a step as a std::tuple with an array for each head: of one array, of multi::targets(), or of a batch of
// multi::batches.
template <numbers Array>
std::tuple<const Array&> target_tuple(const Array& one) {
  return {one};
}
template <numbers... Arrays>
const std::tuple<const Arrays&...>& target_tuple(const target_arrays<Arrays...>& several) {
  return several.arrays;
}
template <numbers... Arrays>
const std::tuple<Arrays...>& target_tuple(const std::tuple<Arrays...>& of_batch) {
  return of_batch;
}

template <class Targets>
concept step_targets = requires(const Targets& t) { target_tuple(t); };
template <class Targets>
concept several_targets = step_targets<Targets> && !numbers<Targets>;

} // namespace cairn::detail
