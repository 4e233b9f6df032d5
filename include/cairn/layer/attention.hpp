// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/attention_options.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/stored.hpp>

namespace cairn::attention {

// Scaled dot-product attention of Heads heads, without parameters: (T, (Heads + 2 KeyHeads) D) becomes (T, Heads D). The columns
// of a row are the token's queries, head after head, then its keys, then its values, as a projection makes them; D follows from
// the input. It is torch's scaled_dot_product_attention without dropout, for the three parts of such a matrix.
//
// Kept for backward is one number for each token and head, which makes the probabilities again; the T x T matrix is never in
// memory, neither here nor in the plan. With attention::stored_probabilities it is kept instead.
template <std::size_t Heads, class... Options>
struct core : detail::attention_message {
  using options = detail::attention_options<Heads, Options...>;
  static constexpr bool options_are_right = options::are_right;
  static constexpr std::size_t key_heads = options_are_right ? options::key_heads : 1;
  static constexpr bool stores = options_are_right && options::stores > 0; // the probabilities
  static constexpr std::size_t parts = Heads + 2 * key_heads;              // of a row, of D columns each

  static constexpr reads backward_reads = reads::both;

  static constexpr bool accepts(const arguments& in) {
    return in[0].is_real() && in[0].rank() == 2 && in[0].last() % parts == 0 && in[0].last() > 0 && in[0][0] <= ops::most_keys;
  }
  static constexpr tensor outputs(const arguments& in) { return in[0].with_last(in[0].last() / parts * Heads); }
  static constexpr tensor_list tape(const arguments& in) {
    if (stores) return tensor{Heads, in[0][0], in[0][0]};
    return tensor{Heads, in[0][0]}.of(element::accumulated);
  }

  // Two products forward. Backward makes the scores again and has four more. Softmax is about 20 operations a score.
  static constexpr work flops(const arguments& in) {
    const std::size_t scores = Heads * scores_of(in[0][0]), product = 2 * scores * (in[0].last() / parts);
    if (stores) return {2 * product + 21 * scores, 4 * product + 5 * scores, 4 * product + 5 * scores};
    return {2 * product + 20 * scores, 5 * product + 25 * scores, 5 * product + 25 * scores};
  }

  template <class T, detail::attention_runs_on<T> Queue>
    requires(!stores || detail::stored_attention_runs_on<Queue, T>)
  static void forward(Queue& queue, const forward_call<T>& call) {
    if constexpr (stores)
      stored_attention_forward(queue, extents(call), call.outputs[0], call.tape[0], columns(call, call.inputs[0]));
    else attention_forward(queue, extents(call), call.outputs[0], call.tape.sums(0), columns(call, call.inputs[0]));
  }

  template <class T, detail::attention_runs_on<T> Queue>
    requires(!stores || detail::stored_attention_runs_on<Queue, T>)
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    if constexpr (stores)
      stored_attention_backward(queue, extents(call), columns(call, call.input_gradients[0]), call.output_gradients[0],
                                call.outputs[0], call.tape[0], columns(call, call.inputs[0]));
    else
      attention_backward(queue, extents(call), columns(call, call.input_gradients[0]), call.output_gradients[0], call.outputs[0],
                         call.tape.sums(0), columns(call, call.inputs[0]));
  }

private:
  // The number of pairs of tokens of which one looks at the other.
  static constexpr std::size_t scores_of(std::size_t tokens) {
    const std::size_t before = options::band.before < tokens ? options::band.before : tokens - 1;
    const std::size_t after = options::band.after < tokens ? options::band.after : tokens - 1;
    const auto outside = [tokens](std::size_t reach) { return (tokens - 1 - reach) * (tokens - reach) / 2; };
    return tokens * tokens - outside(before) - outside(after);
  }
  template <class Call>
  static ops::attention_extents extents(const Call& call) {
    const std::size_t tokens = call.in(0)[0];
    return {.samples = call.rows,
            .queries = tokens,
            .keys = tokens,
            .heads = Heads,
            .key_heads = key_heads,
            .width = call.in(0).last() / parts,
            .band = options::band};
  }
  template <class Call, class T>
  static ops::attention_operands<T> columns(const Call& call, T* rows) {
    const std::size_t stride = call.in(0).last(), width = stride / parts;
    return {rows, rows + Heads * width, rows + (Heads + key_heads) * width, stride, stride};
  }
};

} // namespace cairn::attention
