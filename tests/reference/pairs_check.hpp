// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/device/cpu.hpp>

#include "differences.hpp"
#include "values.hpp"

// For an op that compares outputs with targets, called as op(queue, loss, gradient, count, output, targets). Returns the largest
// distance of the loss and its gradient from PyTorch's: without a gradient, with one apart from the output, and with one over it.
template <class T, class Op>
double pairs_distance_from_torch(const std::string& name, const Op& op) {
  cairn::cpu device;
  auto output = reference_numbers<T>(name + "/output");
  const auto targets = reference_numbers<T>(name + "/targets");
  std::vector<T> apart(output.size());
  double loss = -1, largest = 0;
  for (T* const gradient : {static_cast<T*>(nullptr), apart.data(), output.data()}) {
    op(device.compute(), &loss, gradient, output.size(), static_cast<const T*>(output.data()), targets.data());
    largest = std::max(largest, largest_difference<double>({loss}, reference_values(name + "/loss")));
  }
  const auto& expected = reference_values(name + "/output_gradient");
  return std::max({largest, largest_difference(apart, expected), largest_difference(output, expected)});
}

// Whether the loss over many elements is the mean of term(y, t) in double, and the same on any number of threads.
template <class T, class Op, class Term>
bool is_mean_of(const Op& op, const Term& term, double tolerance) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{70001}}) {
    std::vector<T> y(count), t(count);
    double expected = 0, losses[2] = {};
    for (std::size_t i = 0; i < count; ++i) {
      y[i] = static_cast<T>(static_cast<double>(i * 7919 % 1009) / 100 - 5);
      t[i] = static_cast<T>(static_cast<double>(i * 104729 % 997) / 997);
      expected += term(static_cast<double>(y[i]), static_cast<double>(t[i])) / static_cast<double>(count);
    }
    for (const std::size_t threads : {1U, 2U}) {
      cairn::cpu device({.threads = threads});
      op(device.compute(), &losses[threads - 1], static_cast<T*>(nullptr), count, static_cast<const T*>(y.data()),
         static_cast<const T*>(t.data()));
    }
    if (losses[0] != losses[1] || !(losses[0] - expected <= tolerance * expected && expected - losses[0] <= tolerance * expected))
      return false;
  }
  return true;
}
