// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/tensor.hpp>

// Descriptions in elements of the network's type, and the same in accumulated ones: see float_layer.hpp.
namespace cairn::detail {

// What arrives in a layer inside, as the layer itself describes it: with elements of the network's type. The network's constants
// have that type, so they are not passed: a layer that needs one refuses.
struct real_arguments {
  static constexpr tensor_list no_constants{};
  value_list list{};

  constexpr explicit real_arguments(const arguments& in) {
    for (std::size_t k = 0; k < in.count; ++k)
      list.push_back(in[k].type == element::accumulated ? in[k].of(element::real) : in[k]);
  }
  constexpr operator arguments() const { return {list.items.data(), list.count, no_constants}; }
};
// The same list in accumulated elements.
constexpr tensor_list in_sums(const tensor_list& list) {
  tensor_list out;
  for (const tensor& t : list) out.push_back(t.type == element::real ? t.of(element::accumulated) : t);
  return out;
}

} // namespace cairn::detail
