// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/checked_calls.hpp>
#include <cairn/layer/checked_layer.hpp>
#include <cairn/layer/describe.hpp>
#include <cairn/layer/gradient_check/derivatives.hpp>
#include <cairn/layer/gradient_check/layer_alone.hpp>
#include <cairn/layer/gradient_check/layer_functions.hpp>
#include <cairn/layer/gradient_check/variants.hpp>

namespace cairn::detail {

template <class T>
std::string fault_of(const layer_functions<T>& layer, const tensor_list& inputs, const tensor_list& constants) {
  if (inputs.count != layer.takes)
    return "it takes " + std::to_string(layer.takes) + " tensors, not " + std::to_string(inputs.count);
  for (const std::size_t rows : {1U, 2U, 5U}) {
    description made{};
    element_facts facts{};
    layer.describe(value_list(inputs, most_tensors), constants, {sizes_of<T>, rows}, made, &facts);
    if (!made.accepts) return "it does not accept these tensors";
    const tensor_set able = with_gradient(made.after), all = with_gradient(inputs);
    for (unsigned set = 0; set <= able; ++set) {
      const auto used = static_cast<tensor_set>(set & able);
      if (used != set || (used == 0 && able != 0)) continue; // no set of outputs that may be used
      const auto wanted = static_cast<tensor_set>(made.uses(used) & all);
      layer_alone<T> own(layer, inputs, constants, rows), probe(layer, inputs, constants, rows);
      std::string fault = wrong_derivative(own, probe, used, wanted);
      if (fault.empty()) fault = variants<T>(layer, inputs, constants, rows, used, wanted).fault(facts);
      if (!fault.empty()) return fault + " (rows: " + std::to_string(rows) + ", outputs used: " + std::to_string(set) + ")";
    }
  }
  return {};
}

} // namespace cairn::detail

namespace cairn {

// Checks everything that the concept of a layer requires. The layer runs alone in double, on the cpu, for 1, 2 and 5 rows and
// for every set of its outputs that may be used:
//
//   * every derivative, by every real input and every parameter, against difference quotients of the sum of
//     dot(output, output_gradient). Parameters are random, not as they start; buffers start as they say;
//   * bit for bit: a recompute is the forward, and so is a forward without a tape, in place, with two threads, with an
//     activation or an addend fused in, with strided rows; likewise backward, with and without gradients that are wanted;
//   * gradients are overwritten, buffers change in pass::forward only, and neither a read-only tensor nor the memory after a
//     tensor is written.
//
// Returns the first fault as a sentence, or an empty string for a correct layer:
//
//   assert(gradient_fault<Linear<4, 3>>({{4}}) == "");
//
// `inputs` are the tensors that it takes, `constants` those of its network. Integers are 0, 1 and 2. The layer's function
// should be smooth at numbers of 0.1 … 1 in size.
template <layer L>
std::string gradient_fault(const tensor_list& inputs, const tensor_list& constants = {}) {
  static_assert(detail::checked_layer<L>::template right<detail::checked_layer<L>>());
  using calls = detail::checked_calls<L, cpu::queue, double>;
  static_assert(calls::template right<calls>());
  return detail::fault_of(detail::functions_of<L, double>(), inputs, constants);
}

} // namespace cairn
