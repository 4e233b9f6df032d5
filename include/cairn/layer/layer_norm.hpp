// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/ops/layer_norm/layer_norm.hpp>

namespace cairn {

// Every row of Features numbers gets mean 0 and variance 1, then a weight and a bias per feature, as
// torch.nn.LayerNorm(Features) with its eps of 1e-5. An input of any rank whose last extent is Features is a
// stack of such rows. The weight starts as ones, the bias as zeros.
//
// Mean and 1 / deviation of each row are kept for backward: two numbers, cheaper than another pass over the
// row.
template <std::size_t Features>
struct LayerNorm {
  static_assert(Features > 0, "LayerNorm: it needs at least one feature; write LayerNorm<Features>");

  static constexpr double eps = 1e-5;
  static constexpr shape input_shape{Features};
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;

  static constexpr bool accepts(const shape& in) { return in.rank > 0 && in.last() == Features; }
  static constexpr shape output_shape(const shape& in) { return in; }
  static constexpr parameter_list parameters(const shape&) {
    return {{"weight", {Features}, initial::constant, 1}, {"bias", {Features}, initial::constant, 0}};
  }
  static constexpr std::size_t tape_bytes(const shape& in, std::size_t element) {
    return 2 * rows_of(in) * element;
  }

  // Mean, variance and result are 8 operations a number; the gradients of the parameters are 5, of the input
  // 10.
  static constexpr work flops(const shape& in) { return {8 * in.size(), 15 * in.size(), 10 * in.size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    layer_norm_forward(queue, call.rows * rows_of(*call.input_shape), Features, eps, call.output,
                       reinterpret_cast<T*>(call.tape), call.input, call.parameters[0], call.parameters[1]);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    layer_norm_backward(queue, call.rows * rows_of(*call.input_shape), Features, call.input_gradient,
                        call.gradients[0], call.gradients[1], call.output_gradient, call.input,
                        reinterpret_cast<const T*>(call.tape), call.parameters[0]);
  }

private:
  // How many rows of Features numbers one sample is.
  static constexpr std::size_t rows_of(const shape& in) { return in.size() / Features; }
};

} // namespace cairn
