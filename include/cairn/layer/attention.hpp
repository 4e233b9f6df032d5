// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/attention_constants.hpp>
#include <cairn/layer/attention_extras.hpp>
#include <cairn/layer/kept_tokens.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/read_attention_options.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/attention/stored.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn::attention {

// Scaled dot-product attention of Heads heads, without parameters: (T, (Heads + 2 KeyHeads) D) becomes (T, Heads D). The columns
// of a row are the token's queries, head after head, then its keys, then its values, as a projection makes them; D follows from
// the input. It is torch's scaled_dot_product_attention for the three parts of such a matrix.
//
// Kept for backward is one number for each token and head, which makes the probabilities again; the T x T matrix is never in
// memory, neither here nor in the plan. With attention::stored_probabilities it is kept instead.
template <std::size_t Heads, class... Options>
struct core : detail::attention_message, detail::attention_constants_message {
  using options = detail::attention_options<Heads, Options...>;
  using extras = detail::extras_of_attention<options, Heads, detail::which_constant::first>;
  static constexpr bool options_are_right = options::are_right;
  static constexpr std::size_t key_heads = options_are_right ? options::key_heads : 1;
  static constexpr bool stores = options_are_right && options::stores > 0; // the probabilities
  static constexpr std::size_t parts = Heads + 2 * key_heads;              // of a row, of D columns each

  static constexpr reads backward_reads = reads::both;

  static constexpr bool accepts(const arguments& in) {
    return in[0].is_real() && in[0].rank() == 2 && in[0].last() % parts == 0 && in[0].last() > 0 && in[0][0] <= ops::most_keys &&
           !lacks_constant(in);
  }
  static constexpr bool lacks_constant(const arguments& in) { return extras::lacks_constant(in); }
  static constexpr tensor outputs(const arguments& in) { return in[0].with_last(in[0].last() / parts * Heads); }
  static constexpr tensor_list tape(const arguments& in) {
    if (stores) return tensor{Heads, in[0][0], in[0][0]};
    return tensor{Heads, in[0][0]}.of(element::accumulated);
  }

  // Of a text are kept keys and values.
  static constexpr bool takes_tokens_apart = options::band.after == 0;
  static constexpr std::size_t keeps_per_token(const arguments& in) { return in[0].last() / parts * 2 * key_heads; }

  // Two products forward. Backward makes the scores again and has four more. Softmax is about 20 operations a score, and a draw
  // for dropout as many.
  static constexpr work flops(const arguments& in) {
    const std::size_t scores = Heads * detail::pairs_in_band(in[0][0], in[0][0], options::band);
    const std::size_t product = 2 * scores * (in[0].last() / parts);
    const std::size_t more = detail::flops_of_extras<options>(scores);
    if (stores) return {2 * product + 21 * scores, 4 * product + 5 * scores, 4 * product + 5 * scores};
    const std::size_t backward = 5 * product + 25 * scores + more;
    return {2 * product + 20 * scores + more, backward, backward};
  }

  template <class T, detail::attends_on<T, options::have_extras> Queue>
    requires(!stores || detail::stored_attention_runs_on<Queue, T>)
  static void forward(Queue& queue, const forward_call<T>& call) {
    if constexpr (detail::keeps_tokens_on<Queue>)
      if (call.kept != nullptr) return attend_to_kept(queue, call);
    const ops::attention_operands<const T> in = columns(call, call.inputs[0]);
    if constexpr (stores) stored_attention_forward(queue, extents(call), call.outputs[0], call.tape[0], in);
    else if constexpr (options::have_extras)
      attention_forward(queue, extents(call), call.outputs[0], call.tape.sums(0), in,
                        extras::template of<T>(call, call.why != pass::evaluate));
    else attention_forward(queue, extents(call), call.outputs[0], call.tape.sums(0), in);
  }

  template <class T, detail::attends_on<T, options::have_extras> Queue>
    requires(!stores || detail::stored_attention_runs_on<Queue, T>)
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    const ops::attention_operands<const T> in = columns(call, call.inputs[0]);
    const ops::attention_operands<T> gradients = columns(call, call.input_gradients[0]);
    const accumulated<T>* const sums = call.tape.sums(0);
    if constexpr (stores)
      stored_attention_backward(queue, extents(call), gradients, call.output_gradients[0], call.outputs[0], call.tape[0], in);
    else if constexpr (options::have_extras)
      attention_backward(queue, extents(call), gradients, call.output_gradients[0], call.outputs[0], sums, in,
                         extras::template of<T>(call, true));
    else attention_backward(queue, extents(call), gradients, call.output_gradients[0], call.outputs[0], sums, in);
  }

private:
  // Of the next tokens of one text, whose keys and values are added to those that are kept.
  template <class T, class Queue>
  static void attend_to_kept(Queue& queue, const forward_call<T>& call) {
    const ops::attention_operands<const T> in = columns(call, call.inputs[0]);
    ops::attention_extents of = extents(call);
    of.first_place = call.kept->taken;
    of.keys += of.first_place;
    const std::size_t values = key_heads * of.width, row = 2 * values;
    T* const all = call.kept->of(call.random.position);
    copy_matrix(queue, ops::matrix<T>{all + of.first_place * row, of.queries, row}, {in.key, of.queries, row, in.key_stride});
    attention_forward(queue, of, call.outputs[0], nullptr, {in.query, all, all + values, in.query_stride, row});
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
