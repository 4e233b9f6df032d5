// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <cairn/core/shape.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/losses/loss.hpp>

#include "differences.hpp"
#include "values.hpp"

// The largest distance of a loss and its gradient from PyTorch's. Runs without a gradient, with one apart from the output, and
// with one over it.
template <cairn::loss Loss, class T, class Target>
double loss_distance_from_torch(const std::string& name, const cairn::shape& output_shape, const Loss& function = {}) {
  cairn::cpu device;
  auto output = reference_numbers<T>(name + "/output");
  const auto targets = reference_numbers<Target>(name + "/targets");
  std::vector<T> apart(output.size());
  double loss = -1, largest = 0;
  for (T* const gradient : {static_cast<T*>(nullptr), apart.data(), output.data()}) {
    cairn::loss_call<T, Target> call;
    call.rows = output.size() / output_shape.size();
    call.output_shape = &output_shape;
    call.output = output.data();
    call.targets = targets.data();
    call.output_gradient = gradient;
    call.loss = &loss;
    function.run(device.compute(), call);
    largest = std::max(largest, largest_difference<double>({loss}, reference_values(name + "/loss")));
  }
  const auto& expected = reference_values(name + "/output_gradient");
  return std::max({largest, largest_difference(apart, expected), largest_difference(output, expected)});
}
