// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/device/cpu.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/train/optimizers/optimizer.hpp>

#include "differences.hpp"
#include "values.hpp"

// Returns the parameters after each step on the gradients of make.py. The gradients are divided by the scale first, which the
// optimizer must undo; `cut` is where the span is cut in two, as buckets do.
template <class T, cairn::optimizer Optimizer>
std::vector<T> trajectory(const Optimizer& optimizer, double scale = 1, std::size_t cut = 0) {
  cairn::cpu device;
  auto parameters = reference_numbers<T>("optimizer/start");
  auto gradients = reference_numbers<T>("optimizer/gradients");
  for (T& g : gradients) g /= static_cast<T>(scale);
  const std::size_t count = parameters.size();
  std::array<std::vector<T>, 2> states{std::vector<T>(count), std::vector<T>(count)};
  std::vector<T> all;
  for (std::size_t step = 0; step < gradients.size() / count; ++step) {
    for (const auto& [begin, end] : {std::array{std::size_t{0}, cut}, std::array{cut, count}}) {
      cairn::update_call<T> call;
      call.count = end - begin;
      call.parameters = parameters.data() + begin;
      call.gradients = gradients.data() + step * count + begin;
      // An optimizer must not touch a state that it did not ask for.
      for (std::size_t k = 0; k < optimizer.states(); ++k) call.states[k] = states[k].data() + begin;
      call.scale.number = scale;
      call.learning_rate = optimizer.learning_rate;
      call.step = step + 1;
      optimizer.update(device.compute(), call);
    }
    all.insert(all.end(), parameters.begin(), parameters.end());
  }
  return all;
}

// The largest distance of the parameters from PyTorch's after any step, for a whole span, a cut one and scaled gradients.
template <class T, cairn::optimizer Optimizer>
double optimizer_distance_from_torch(const std::string& name, const Optimizer& optimizer) {
  const auto& expected = reference_values("optimizer/" + name);
  const auto whole = trajectory<T>(optimizer);
  if (trajectory<T>(optimizer, 1, 16) != whole) return INFINITY;
  return std::max(largest_difference(whole, expected), largest_difference(trajectory<T>(optimizer, 2), expected));
}
