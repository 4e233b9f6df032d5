// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include <cairn/core/tensor.hpp>
#include <cairn/layer/gradient_check/guarded_tensors.hpp>
#include <cairn/layer/gradient_check/layer_alone.hpp>

namespace cairn::detail {

// Compares `found` with the derivative of f by x: (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h, whose error
// falls with h^4. The error of (f(x + h) - f(x - h)) / 2h is too large where f is strongly curved, as in a normalization of
// two close numbers. Returns what is wrong, or an empty string.
template <class T, class F>
std::string compare_derivative(T& x, T found, const F& f) {
  constexpr double h = 1e-5;
  const T kept = x;
  const auto difference = [&](double by) {
    x = kept + by;
    const double above = f();
    x = kept - by;
    const double below = f();
    x = kept;
    return above - below;
  };
  const double expected = (8 * difference(h) - difference(2 * h)) / (12 * h);
  // Written so that a NaN gradient is a fault.
  if (std::fabs(found - expected) <= 1e-7 * std::max(1.0, std::fabs(expected))) return {};
  return " is " + std::to_string(found) + ", the difference quotient " + std::to_string(expected);
}

inline std::string element_name(const char* kind, std::size_t k, std::size_t i) {
  return kind + std::to_string(k) + "[" + std::to_string(i) + "]";
}

// Checks the derivatives of f, the sum of dot(output, output_gradient) over the outputs `used`, by every real input and every
// parameter. `wanted` are the inputs whose gradient is requested: the derivative of f by the others is 0.
template <class T>
std::string wrong_derivative(layer_alone<T>& own, layer_alone<T>& probe, tensor_set used, tensor_set wanted) {
  guarded_tensors<T> x = own.some_inputs();
  const auto dy = own.some_outputs();
  const auto y = own.forward(x);
  const auto dx = own.backward(x, y, dy, {.used = used, .wanted = wanted});
  const auto f = [&] {
    const auto found = probe.forward(x);
    T sum = 0;
    for (std::size_t k = 0; k < dy.list().count; ++k)
      for (std::size_t i = 0; contains(used, k) && i < dy.size(k); ++i) sum += found[k][i] * dy[k][i];
    return sum;
  };
  for (std::size_t k = 0; k < x.list().count; ++k)
    for (std::size_t i = 0; x.list()[k].type == element::real && i < x.size(k); ++i) {
      if (!x.list()[k].has_gradient) continue;
      const T found = contains(wanted, k) ? dx[k][i] : 0;
      const std::string fault = compare_derivative(x[k][i], found, f);
      if (!fault.empty()) return element_name("input_gradient ", k, i) + fault;
    }
  for (std::size_t k = 0; k < own.parameters.list().count; ++k)
    for (std::size_t i = 0; i < own.parameters.size(k); ++i) {
      const std::string fault = compare_derivative(probe.parameters[k][i], own.gradients[k][i], f);
      if (!fault.empty()) return element_name("gradient ", k, i) + fault;
    }
  return {};
}

} // namespace cairn::detail
