// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/element.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/core/view.hpp>

namespace cairn::detail {

// The outputs of a network that the program sees: the first tensor of its last value, or all tensors of a with_all_outputs.
template <class Plan, class T>
struct network_outputs {
  static constexpr std::size_t count = Plan::all_outputs ? Plan::outputs.count : 1;
  static constexpr value_list list{Plan::outputs, count};
  // The layouts of the outputs in the network's memory (`values`) and for the program (`sums`). Gradients lie as values do.
  static constexpr tensor_layout values{list, sizes_of<T>, Plan::batch};
  static constexpr tensor_layout sums{list, sizes_of<accumulated<T>>, Plan::batch};

  // One output as a tensor; those of a with_all_outputs as an array.
  template <class Tensor>
  using given = std::conditional_t<Plan::all_outputs, std::array<Tensor, count>, Tensor>;
  template <class Tensor>
  static const given<Tensor>& give(const std::array<Tensor, count>& all) {
    if constexpr (Plan::all_outputs) return all;
    else return all[0];
  }

  // Output k of `rows` samples, in memory that has room for all.
  template <class U>
  static tensor_view<U> view(U* all, std::size_t k, std::size_t rows, const tensor_layout& where) {
    return {all + where.offsets[k] / sizeof(U), rows, list[k].extents};
  }
};

} // namespace cairn::detail
