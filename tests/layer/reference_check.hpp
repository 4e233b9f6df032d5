// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "../reference/differences.hpp"
#include "../reference/values.hpp"
#include "lent_layer.hpp"

// How far a layer's output, input gradient and parameters' gradients are from PyTorch's, at most.
template <cairn::layer L, class T>
double distance_from_torch(const std::string& name, const cairn::shape& in) {
  const auto input = reference_numbers<T>(name + "/input");
  lent_layer<L, T> own(in, input.size() / in.size());
  for (std::size_t k = 0; k < own.count(); ++k) {
    const auto parameter = reference_numbers<T>(name + "/parameter" + std::to_string(k));
    std::copy(parameter.begin(), parameter.end(), own.parameter(k));
  }
  const auto output = own.forward(input);
  const auto input_gradient = own.backward(input, output, reference_numbers<T>(name + "/output_gradient"));
  double largest = std::max(largest_difference(output, reference_values(name + "/output")),
                            largest_difference(input_gradient, reference_values(name + "/input_gradient")));
  for (std::size_t k = 0; k < own.count(); ++k) {
    const std::vector<T> gradient(own.gradient(k), own.gradient(k) + own.size(k));
    largest = std::max(
        largest, largest_difference(gradient, reference_values(name + "/gradient" + std::to_string(k))));
  }
  return largest;
}
