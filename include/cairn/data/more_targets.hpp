// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/input_types.hpp>

namespace cairn::detail {

template <class Inputs, class Target>
struct inputs_and;
template <class... Inputs, class Target>
struct inputs_and<pack<Inputs...>, Target> : input_type_of<Inputs..., Target> {};

} // namespace cairn::detail

namespace cairn::multi {

// A dataset with more targets for each sample, for multi::batches: row i of the view belongs to sample i. They come after the
// targets that the dataset has. Their numbers may be of another type.
//
//   const multi::more_targets data{digits.train, tensor_view<const float>{boxes.data(), digits.train.size(), shape{4}}};
//   auto batches = multi::batches<2>(data, sampler{rank}, batch<64>{}); // targets: a class and a box
//
// Models dataset. Neither the dataset nor the numbers are copied; both must outlive this. Throws input_error if there is not one
// row for each sample.
template <class Dataset, class Target>
class more_targets {
  static_assert(detail::checked_dataset<Dataset>::value);
  using inputs = detail::inputs_of<typename Dataset::input_type>;

public:
  using input_type = typename detail::inputs_and<typename inputs::elements, typename Dataset::target_type>::type;
  using target_type = Target;

  more_targets(const Dataset& whole, tensor_view<const Target> targets) : whole_(&whole), targets_(targets) {
    if (targets.rows() != whole.size())
      throw input_error("multi::more_targets: expected one row of targets for each of " + std::to_string(whole.size()) +
                        " samples, found " + std::to_string(targets.rows()) + "; pass both for the same samples");
  }
  // A temporary dataset would be gone before the first sample is read.
  more_targets(const Dataset&&, tensor_view<const Target>) = delete;

  std::size_t size() const { return whole_->size(); }
  // The shapes of the inputs, then that of the dataset's own targets.
  std::array<shape, inputs::count + 1> sample_shapes() const {
    const std::size_t own = whole_->targets_per_sample();
    std::array<shape, inputs::count + 1> all{};
    std::ranges::copy(detail::shapes_of(*whole_), all.begin());
    all.back() = std::integral<typename Dataset::target_type> && own == 1 ? shape{} : shape{own};
    return all;
  }
  std::size_t targets_per_sample() const { return targets_.sample_shape().size(); }

  template <class... Spans>
    requires(sizeof...(Spans) == inputs::count + 2)
  void read(std::size_t index, Spans... to) const {
    const auto all = std::tie(to...);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      whole_->read(index, std::get<K>(all)...);
    }(std::make_index_sequence<inputs::count + 1>{});
    const std::span<Target> targets = std::get<inputs::count + 1>(all);
    std::copy_n(targets_.row(index), targets.size(), targets.begin());
  }

  const Dataset& whole() const { return *whole_; }

private:
  const Dataset* whole_;
  tensor_view<const Target> targets_;
};

template <class Dataset, class Target>
more_targets(const Dataset&, tensor_view<Target>) -> more_targets<Dataset, std::remove_const_t<Target>>;

} // namespace cairn::multi
