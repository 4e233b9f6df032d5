// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "../../reference/differences.hpp"
#include "../../reference/values.hpp"
#include "../alone.hpp"

namespace testing {

// The largest distance of a recurrent cell's outputs and gradients from PyTorch's.
template <cairn::layer Cell, class T>
double distance_of_cell(const std::string& name) {
  const auto at = [&](const std::string& what, std::size_t k) { return name + "/" + what + std::to_string(k); };
  alone<Cell, T> own(Cell::inputs, reference_values(at("input", 0)).size() / Cell::inputs[0].size());
  auto x = own.some_inputs();
  auto dy = own.some_outputs();
  for (std::size_t k = 0; k < Cell::inputs.count; ++k) x.assign(k, reference_numbers<T>(at("input", k)));
  for (std::size_t k = 1; k < Cell::inputs.count; ++k) dy.assign(k - 1, reference_numbers<T>(at("output_gradient", k - 1)));
  for (std::size_t k = 0; k < 4; ++k) own.parameters.assign(k, reference_numbers<T>(at("parameter", k)));
  const auto y = own.forward(x);
  const auto dx = own.backward(x, y, dy);
  double largest = 0;
  const auto compare = [&](const auto& numbers, const std::string& what) {
    largest = std::max(largest, largest_difference(numbers, reference_values(what)));
  };
  for (std::size_t k = 0; k < Cell::inputs.count; ++k) compare(dx.values(k), at("input_gradient", k));
  for (std::size_t k = 1; k < Cell::inputs.count; ++k) compare(y.values(k - 1), at("output", k - 1));
  for (std::size_t k = 0; k < 4; ++k) compare(own.gradients.values(k), at("gradient", k));
  return largest;
}

} // namespace testing
