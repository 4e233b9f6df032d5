// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/gradient_check/layer_alone.hpp>

// One layer with everything that it works on, as the gradient checker runs it.
template <cairn::layer L, class T>
struct alone : cairn::detail::layer_alone<T> {
  alone(const cairn::tensor_list& inputs, std::size_t rows, const cairn::tensor_list& of_network = {})
      : cairn::detail::layer_alone<T>(cairn::detail::functions_of<L, T>(), inputs, of_network, rows) {}
};
