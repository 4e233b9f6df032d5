// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/layer/describe.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/activation.hpp>

#include "lent_layer.hpp"

// Checks one layer, in double, against everything that the concept of a layer says, for some numbers of rows.
// Every derivative is compared with (f(x + h) - f(x - h)) / 2h of f = dot(output, output_gradient);
// everything else must be equal bit for bit. Gives the first fault, or nothing for a right layer.

namespace gradient_check_detail {

using cairn::activation;
using numbers = std::vector<double>;

inline double dot(const numbers& a, const numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The derivative of f by x, or what is wrong with `found`.
template <class F>
std::string compare_derivative(const std::string& name, double& x, double found, const F& f) {
  constexpr double h = 1e-5;
  const double kept = x;
  x = kept + h;
  const double above = f();
  x = kept - h;
  const double below = f();
  x = kept;
  const double expected = (above - below) / (2 * h);
  // Written so that a gradient which is no number is a fault.
  if (std::fabs(found - expected) <= 1e-7 * std::max(1.0, std::fabs(expected))) return {};
  return name + " is " + std::to_string(found) + ", the difference quotient " + std::to_string(expected);
}

template <cairn::layer L>
std::string derivatives(const cairn::shape& in, std::size_t rows) {
  lent_layer<L, double> own(in, rows);
  lent_layer<L, double> probe(in, rows);
  numbers x = some_numbers<double>(own.inputs(), 1);
  const numbers dy = some_numbers<double>(own.outputs(), 2);
  const numbers y = own.forward(x);
  const numbers dx = own.backward(x, y, dy);
  const auto f = [&] { return dot(probe.forward(x), dy); };
  std::string fault;
  for (std::size_t i = 0; i < x.size() && fault.empty(); ++i)
    fault = compare_derivative("input_gradient[" + std::to_string(i) + "]", x[i], dx[i], f);
  for (std::size_t k = 0; k < own.count(); ++k)
    for (std::size_t i = 0; i < own.size(k) && fault.empty(); ++i)
      fault = compare_derivative("gradient " + std::to_string(k) + "[" + std::to_string(i) + "]",
                                 probe.parameter(k)[i], own.gradient(k)[i], f);
  return fault;
}

inline numbers changed(numbers a, activation which, const numbers* addend) {
  for (double& v : a) v = cairn::activated(which, v);
  if (addend != nullptr)
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += (*addend)[i];
  return a;
}

inline numbers changed_back(numbers a, activation which, const numbers* addend, const numbers& at) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (addend != nullptr) a[i] += (*addend)[i];
    if (which == activation::relu && !(at[i] > 0)) a[i] = 0;
  }
  return a;
}

// What a layer is asked to do besides must not change what it computes.
template <cairn::layer L>
std::string variants(const cairn::shape& in, std::size_t rows) {
  const cairn::stage stage = cairn::describe<L>(in, sizeof(double));
  lent_layer<L, double> own(in, rows);
  const numbers x = some_numbers<double>(own.inputs(), 1);
  const numbers dy = some_numbers<double>(own.outputs(), 2);
  const numbers y = own.forward(x);
  const numbers tape = own.tape.numbers();
  const numbers dx = own.backward(x, y, dy);
  if (!own.unchanged) return "backward wrote on output_gradient";
  const numbers gradients = own.gradients.numbers();

  if (!same_bits(own.forward(x, {.why = cairn::pass::recompute}), y)) return "recompute differs from forward";
  if (!same_bits(own.tape.numbers(), tape)) return "recompute's tape differs from forward's";
  if (!same_bits(own.forward(x, {.wants_tape = false}), y)) return "forward without a tape differs";
  if (!same_bits(own.backward(x, y, dy), dx)) return "a second backward differs";
  if (!same_bits(own.gradients.numbers(), gradients)) return "gradients are not overwritten, but added to";
  own.backward(x, y, dy, {.wants_input_gradient = false});
  if (!same_bits(own.gradients.numbers(), gradients))
    return "gradients depend on whether the input gradient is wanted";
  if (stage.in_place_forward) {
    if (!same_bits(own.forward(x, {.in_place = true}), y)) return "forward in place differs";
    if (!same_bits(own.backward(x, y, dy, {.in_place = true}), dx)) return "backward in place differs";
    if (!same_bits(own.gradients.numbers(), gradients)) return "gradients in place differ";
  }
  lent_layer<L, double> threaded(in, rows, 2);
  if (!same_bits(threaded.forward(x), y)) return "forward on two threads differs";
  if (!same_bits(threaded.backward(x, y, dy), dx)) return "backward on two threads differs";
  if (!same_bits(threaded.gradients.numbers(), gradients)) return "gradients on two threads differ";

  const numbers to_output = some_numbers<double>(own.outputs(), 3);
  const numbers to_gradient = some_numbers<double>(own.inputs(), 4);
  for (const activation which : {activation::none, activation::relu})
    for (const bool adds : {false, true}) {
      if ((which != activation::none && !stage.fuses) || (adds && !cairn::described<L>::adds)) continue;
      const numbers* const addend = adds ? &to_output : nullptr;
      const numbers* const back = adds ? &to_gradient : nullptr;
      if (!same_bits(own.forward(x, {.activation = which, .addend = addend}), changed(y, which, addend)))
        return "forward with then or addend differs from doing it after";
      if (!same_bits(own.backward(x, y, dy, {.activation = which, .addend = back}),
                     changed_back(dx, which, back, x)))
        return "backward with before or addend differs from doing it after";
      if (!same_bits(own.gradients.numbers(), gradients)) return "gradients depend on before or addend";
    }
  return own.intact && threaded.intact ? "" : "something was written behind a buffer";
}

} // namespace gradient_check_detail

template <cairn::layer L>
std::string gradient_fault(const cairn::shape& in) {
  for (const std::size_t rows : {1U, 2U, 5U}) {
    std::string fault = gradient_check_detail::derivatives<L>(in, rows);
    if (fault.empty()) fault = gradient_check_detail::variants<L>(in, rows);
    if (!fault.empty()) return fault + " (" + std::to_string(rows) + " rows)";
  }
  return {};
}
