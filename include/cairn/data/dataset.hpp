// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <cairn/core/pack.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/input_types.hpp>

namespace cairn::detail {

// A dataset is a numbered collection of samples: an input, and the targets that belong to it.
//
// A type D is a dataset if, for a const D d,
//   1. D::input_type and D::target_type are the types of the numbers as a network takes them;
//   2. d.size() is the number of samples; it stays the same while samples are read;
//   3. d.sample_shape() is the shape of one input, and d.targets_per_sample() how many targets it has; both are the
//      same for all samples;
//   4. d.read(i, input, targets), for i < d.size(), writes all of two spans, of sample_shape().size() and of
//      targets_per_sample() numbers: one row of a batch;
//   5. equal i give equal numbers; randomness belongs in a transform, which gets a key for it;
//   6. read may be called from any thread, and from several at once (each rank has a loader of its own), and returns
//      in finite time: a thread that is inside it cannot be stopped.
// Not required: that the numbers lie in memory, or lie there as input_type (pixels stay bytes until a batch is made),
// or that read does not throw: its exception reaches the consumer of the loader.
//
// Optional: d.fingerprint(), a 64-bit hash of everything that can be read from d. It differs for another dataset of the same
// size; 0 if it is not known. A resumed run compares it. Without it, 64 samples are read twice when a state is first saved or
// loaded: so provide it if reading a sample takes long.
//
// If a sample has several inputs, D::input_type is input_types<...> with the type of each; d.sample_shapes(), an array of
// their shapes, replaces sample_shape(); and read has a span for each: d.read(i, numbers, mask, targets).

template <class D>
constexpr bool names_element_types = requires {
  typename D::input_type;
  typename D::target_type;
};
template <class D>
constexpr bool answers_size = requires(const D& d) {
  { d.size() } -> std::convertible_to<std::size_t>;
};
template <class D>
constexpr bool answers_targets = requires(const D& d) {
  { d.targets_per_sample() } -> std::convertible_to<std::size_t>;
};
template <class D>
constexpr bool answers_shapes = requires(const D& d) {
  requires !are_several<typename D::input_type>;
  { d.sample_shape() } -> std::convertible_to<shape>;
} || requires(const D& d) {
  requires are_several<typename D::input_type>;
  { d.sample_shapes() } -> std::convertible_to<input_shapes<typename D::input_type>>;
};
template <class D, class Inputs>
constexpr bool reads_into = false;
template <class D, class... Inputs>
constexpr bool reads_into<D, pack<Inputs...>> = requires(const D& d) {
  d.read(std::size_t{}, std::declval<std::span<Inputs>&>()..., std::declval<std::span<typename D::target_type>&>());
};
template <class D>
constexpr bool reads_samples = reads_into<D, typename inputs_of<typename D::input_type>::elements>;

} // namespace cairn::detail

namespace cairn {

template <class D>
concept dataset = detail::names_element_types<D> && detail::answers_size<D> && detail::answers_targets<D> &&
                  detail::answers_shapes<D> && detail::reads_samples<D>;

} // namespace cairn

namespace cairn::detail {

// A dataset with a fingerprint of its own.
template <class D>
concept fingerprinted_dataset = requires(const D& d) {
  { d.fingerprint() } -> std::convertible_to<std::uint64_t>;
};

// The same requirements one by one, so that an error names the one that is missing.
template <class D>
struct checked_dataset {
  static_assert(names_element_types<D>, "dataset: needs  using input_type = …  and  using target_type = …");
  static_assert(answers_size<D>, "dataset: needs  std::size_t size() const");
  static_assert(answers_shapes<D>, "dataset: needs  shape sample_shape() const;  with input_types<...> of N inputs  "
                                   "std::array<shape, N> sample_shapes() const");
  static_assert(answers_targets<D>, "dataset: needs  std::size_t targets_per_sample() const");
  static_assert(reads_samples<D>, "dataset: needs  void read(std::size_t i, std::span<input_type> input, "
                                  "std::span<target_type> targets) const;  with input_types<...> a span for each");
  static constexpr bool value = true;
};

} // namespace cairn::detail
