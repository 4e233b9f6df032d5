// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/kept_tokens.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/positions/positions.hpp>

namespace cairn {

// y = x + p for a sequence x of (T, Width), where p(t, 2i) = sin(t f), p(t, 2i + 1) = cos(t f) and f = 10000^(-2i / Width)
// (Vaswani et al.: Attention is all you need, 2017. arXiv:1706.03762, 3.5). Nothing is learnt or kept: sines are computed in
// double at each call, once for all samples of a batch.
struct SinusoidalPositions {
  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() == 2; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  // One sum of each element; the input gradient is the output gradient.
  static constexpr work flops(const arguments& in) { return {in[0].size(), 0, 0}; }

  template <class T, detail::sinusoids_run_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t tokens = call.in(0)[0], width = call.in(0).last(), first = detail::first_position(call);
    if constexpr (detail::keeps_tokens_on<Queue>)
      add_sinusoids(queue, call.rows, tokens, width, call.outputs[0], call.inputs[0], first);
    else add_sinusoids(queue, call.rows, tokens, width, call.outputs[0], call.inputs[0]);
  }

  template <class T, detail::sinusoids_run_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.input_gradients) copy(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0]);
  }
};

} // namespace cairn
