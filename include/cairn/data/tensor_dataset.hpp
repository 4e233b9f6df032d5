// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/input_types.hpp>

namespace cairn {

// A dataset over the caller's memory, without a copy: row i of all views is sample i. The last view has the targets, those
// before it the inputs: view_dataset{images, labels}, view_dataset{hidden, mask, labels}. The memory must outlive it. Throws
// input_error if the views have different numbers of rows.
template <class... Types>
class view_dataset {
  static_assert(sizeof...(Types) > 1, "view_dataset: needs inputs, and targets behind them");
  static constexpr std::size_t inputs_count = sizeof...(Types) - 1;

public:
  using input_type = typename detail::inputs_before_last<detail::pack<Types...>>::type;
  using target_type = detail::pack_element<inputs_count, detail::pack<Types...>>;

  view_dataset(tensor_view<const Types>... arrays) : arrays_(arrays...) {
    const std::array rows{arrays.rows()...};
    for (std::size_t k = 1; k < rows.size(); ++k)
      if (rows[k] != rows[0])
        throw input_error("view_dataset: expected one row " +
                          (k == inputs_count ? "of targets" : "of input " + std::to_string(k)) + " for each of the " +
                          std::to_string(rows[0]) + " inputs, found " + std::to_string(rows[k]) +
                          "; pass all for the same samples");
  }

  std::size_t size() const { return std::get<0>(arrays_).rows(); }
  const shape& sample_shape() const
    requires(inputs_count == 1)
  {
    return std::get<0>(arrays_).sample_shape();
  }
  std::array<shape, inputs_count> sample_shapes() const
    requires(inputs_count > 1)
  {
    return [this]<std::size_t... K>(std::index_sequence<K...>) {
      return std::array{std::get<K>(arrays_).sample_shape()...};
    }(std::make_index_sequence<inputs_count>{});
  }
  std::size_t targets_per_sample() const { return targets().sample_shape().size(); }

  void read(std::size_t index, std::span<Types>... to) const {
    std::apply([&](const auto&... from) { (std::copy_n(from.row(index), to.size(), to.begin()), ...); }, arrays_);
  }

  // Input K, and the targets.
  template <std::size_t K = 0>
  auto inputs() const {
    static_assert(K < inputs_count);
    return std::get<K>(arrays_);
  }
  tensor_view<const target_type> targets() const { return std::get<inputs_count>(arrays_); }

private:
  std::tuple<tensor_view<const Types>...> arrays_;
};

template <class... Types>
view_dataset(tensor_view<Types>...) -> view_dataset<std::remove_const_t<Types>...>;

// The samples of one array, row after row.
template <class T>
struct sample_array {
  shape sample_shape{};
  std::vector<T> values; // (samples, sample_shape)
};

template <class T>
sample_array(shape, std::vector<T>) -> sample_array<T>;

// A dataset that owns its numbers, as torch's TensorDataset: the last array has the targets, those before it the inputs:
//
//   tensor_dataset data{sample_array{shape{64}, hidden}, sample_array{shape{64}, mask}, sample_array{shape{}, labels}};
//
// For one input, tensor_dataset(sample_shape, inputs, targets_per_sample, targets) is shorter. Throws input_error if the
// lengths do not fit each other.
template <class... Types>
class tensor_dataset {
  static_assert(sizeof...(Types) > 1, "tensor_dataset: needs inputs, and targets behind them");
  static constexpr std::size_t inputs_count = sizeof...(Types) - 1;
  template <std::size_t K>
  using element = detail::pack_element<K, detail::pack<Types...>>;

public:
  using input_type = typename detail::inputs_before_last<detail::pack<Types...>>::type;
  using target_type = element<inputs_count>;

  tensor_dataset(sample_array<Types>... arrays) : arrays_(std::move(arrays)...) {
    const auto& first = std::get<0>(arrays_);
    check_whole(first.sample_shape.size(), first.values.size());
    std::apply(
        [this](const auto&... each) {
          std::size_t k = 0;
          (check_array(k++, each.sample_shape.size(), each.values.size()), ...);
        },
        arrays_);
  }
  // A template, so that the types of a tensor_dataset can be deduced from its arguments before it is instantiated.
  template <class Input = element<0>, class Target = element<sizeof...(Types) - 1>>
    requires(std::is_same_v<detail::pack<Types...>, detail::pack<Input, Target>>)
  tensor_dataset(const shape& sample, std::vector<Input> inputs, std::size_t targets_per_sample, std::vector<Target> targets)
      : tensor_dataset(sample_array<Input>{sample, std::move(inputs)},
                       sample_array<Target>{shape{targets_per_sample}, std::move(targets)}) {}

  // Computed from the numbers that are there: 0 after it was moved from.
  std::size_t size() const {
    const auto& first = std::get<0>(arrays_);
    return first.values.size() / first.sample_shape.size();
  }
  const shape& sample_shape() const
    requires(inputs_count == 1)
  {
    return std::get<0>(arrays_).sample_shape;
  }
  std::array<shape, inputs_count> sample_shapes() const
    requires(inputs_count > 1)
  {
    return [this]<std::size_t... K>(std::index_sequence<K...>) {
      return std::array{std::get<K>(arrays_).sample_shape...};
    }(std::make_index_sequence<inputs_count>{});
  }
  std::size_t targets_per_sample() const { return std::get<inputs_count>(arrays_).sample_shape.size(); }

  void read(std::size_t index, std::span<Types>... to) const {
    std::apply([&](const auto&... from) { (std::copy_n(from.values.data() + index * to.size(), to.size(), to.begin()), ...); },
               arrays_);
  }

  // Input K, and the targets.
  template <std::size_t K = 0>
  tensor_view<const element<K>> inputs() const {
    static_assert(K < inputs_count);
    return view<K>();
  }
  tensor_view<const target_type> targets() const { return view<inputs_count>(); }

private:
  static void check_whole(std::size_t each, std::size_t found) {
    if (each == 0 || found % each != 0)
      throw input_error("tensor_dataset: expected whole samples of " + std::to_string(each) + " numbers, found " +
                        std::to_string(found) + " numbers; check the sample shape");
  }
  void check_array(std::size_t k, std::size_t each, std::size_t found) const {
    if (k != inputs_count) check_whole(each, found);
    if (found != size() * each)
      throw input_error("tensor_dataset: expected " + std::to_string(each) +
                        (k == inputs_count ? " targets" : " numbers of input " + std::to_string(k)) + " for each of " +
                        std::to_string(size()) + " samples, found " + std::to_string(found) +
                        (k == inputs_count ? " targets" : " numbers") + "; pass all for the same samples");
  }
  template <std::size_t K>
  tensor_view<const element<K>> view() const {
    const auto& array = std::get<K>(arrays_);
    return {array.values.data(), size(), array.sample_shape};
  }

  std::tuple<sample_array<Types>...> arrays_;
};

template <class... Types>
tensor_dataset(sample_array<Types>...) -> tensor_dataset<Types...>;
template <class Input, class Target>
tensor_dataset(shape, std::vector<Input>, std::size_t, std::vector<Target>) -> tensor_dataset<Input, Target>;

} // namespace cairn
