// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"
#include "alone.hpp"

// The largest distance of a layer's output, input gradient and parameters' gradients from PyTorch's. Its input is one tensor.
template <cairn::layer L, class T>
double distance_from_torch(const std::string& name, const cairn::tensor& in) {
  const auto input = reference_numbers<T>(name + "/input");
  alone<L, T> own(in, input.size() / in.size());
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  x.assign(0, input);
  dy.assign(0, reference_numbers<T>(name + "/output_gradient"));
  for (std::size_t k = 0; k < own.parameters.list().count; ++k)
    own.parameters.assign(k, reference_numbers<T>(name + "/parameter" + std::to_string(k)));
  const auto y = own.forward(x);
  const auto dx = own.backward(x, y, dy);
  double largest = std::max(largest_difference(y.values(), reference_values(name + "/output")),
                            largest_difference(dx.values(), reference_values(name + "/input_gradient")));
  for (std::size_t k = 0; k < own.gradients.list().count; ++k)
    largest =
        std::max(largest, largest_difference(own.gradients.values(k), reference_values(name + "/gradient" + std::to_string(k))));
  return largest;
}
