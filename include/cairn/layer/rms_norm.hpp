// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <limits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/rms_norm/rms_norm.hpp>

namespace cairn {

// Every row of Features elements gets a mean square of 1, then a weight per feature, as torch.nn.RMSNorm(Features, eps). An input
// of any rank whose last extent is Features is a stack of such rows. The weight starts as ones; there is no bias.
//
// RMSNorm<64, fraction{1, 100000}> has that eps. Without one it is that of torch: the epsilon of the type computed in, 1.2e-7 for
// float and for 16-bit elements, 2.2e-16 for double. 1 / sqrt(mean square + eps) of each row is kept for backward.
template <std::size_t Features, auto... Eps>
struct RMSNorm {
  static_assert(Features > 0, "RMSNorm: it needs at least one feature; write RMSNorm<Features>");
  static_assert(sizeof...(Eps) < 2, "RMSNorm: it has one eps; write RMSNorm<Features, fraction{1, 100000}>");

  template <class T>
  static constexpr double eps() {
    if constexpr (sizeof...(Eps) == 0) return static_cast<double>(std::numeric_limits<accumulated<T>>::epsilon());
    else return (static_cast<double>(Eps), ...);
  }

  static constexpr tensor_list inputs{{Features}};
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;
  static constexpr bool skips_gradients = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() > 0 && in[0].last() == Features; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments&) { return {{"weight", {Features}, initial::constant(1)}}; }
  static constexpr tensor_list tape(const arguments& in) { return tensor{rows_of(in[0])}.of(element::accumulated); }

  // The mean square and the result are 4 operations per element; the gradient of the weight is 3, of the input 7.
  static constexpr work flops(const arguments& in) { return {4 * in[0].size(), 10 * in[0].size(), 7 * in[0].size()}; }

  template <class T, detail::rms_norm_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    rms_norm_forward(queue, call.rows * rows_of(call.in(0)), Features, eps<T>(), call.outputs[0], call.tape.sums(0),
                     call.inputs[0], call.parameters[0]);
  }

  template <class T, detail::rms_norm_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    rms_norm_backward(queue, call.rows * rows_of(call.in(0)), Features, call.input_gradients[0], call.gradients[0],
                      call.output_gradients[0], call.inputs[0], call.tape.sums(0), call.parameters[0]);
  }

private:
  // The number of rows of Features elements in one sample.
  static constexpr std::size_t rows_of(const tensor& in) { return in.size() / Features; }
};

} // namespace cairn
