// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/kept_tokens.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/positions/positions.hpp>

namespace cairn {

// y = x + weight, where row t of the weight (Positions, Width) belongs to position t: a learnt vector for each place of a
// sequence, as torch's `x + position.weight[:x.size(1)]` with nn.Embedding(Positions, Width). The weight starts normal with
// deviation 1.
//
// It takes (T, Width) with T of at most Positions. Of a shorter sequence the other rows have a gradient of 0, so weights that
// were trained for 1024 positions serve any T up to that.
template <std::size_t Positions, std::size_t Width>
struct LearnedPositions {
  static_assert(Positions > 0 && Width > 0,
                "LearnedPositions: it needs at least one position and one element for it; write LearnedPositions<1024, 768>");

  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool skips_gradients = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr bool accepts(const arguments& in) {
    return in[0].is_real() && in[0].rank() == 2 && in[0][0] <= Positions && in[0].last() == Width;
  }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments&) { return {{"weight", {Positions, Width}, initial::normal(1)}}; }

  // One sum, and one sum for the gradient, of each element. The input gradient is the output gradient.
  static constexpr work flops(const arguments& in) { return {in[0].size(), in[0].size(), 0}; }

  template <class T, detail::positions_run_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const T* const table = call.parameters[0] + detail::first_position(call) * Width;
    add_positions(queue, call.rows, call.in(0).size(), call.outputs[0], call.inputs[0], table);
  }

  template <class T, detail::positions_run_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const std::size_t count = call.in(0).size();
    if (call.gradients)
      positions_gradient(queue, call.rows, count, Positions * Width, call.gradients[0], call.output_gradients[0]);
    if (call.input_gradients) copy(queue, call.rows * count, call.input_gradients[0], call.output_gradients[0]);
  }
};

} // namespace cairn
