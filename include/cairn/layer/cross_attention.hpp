// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/error.hpp>
#include <cairn/layer/attention_constants.hpp>
#include <cairn/layer/attention_extras.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/read_attention_options.hpp>
#include <cairn/ops/attention/attention.hpp>

namespace cairn::attention {

// Scaled dot-product attention of Heads heads between two sequences, without parameters: the queries (Tq, Heads D) and the keys
// and values (Tk, 2 KeyHeads D) become (Tq, Heads D). The columns of a row are the queries, head after head, or the keys, then
// the values. It is torch's scaled_dot_product_attention.
//
// A mask takes query i to be at place i of the keys, whatever the two lengths are, as torch's is_causal does: with
// attention::causal it looks at the keys 0 to i. A query that may look at no key has an output of zeros. Constants, key_lengths
// of the memory and an added_mask of (Tq, Tk) or (Heads, Tq, Tk), are the last that fit, as the first are for self-attention.
//
// Kept for backward is one number for each query and head, as by attention::core. Backward makes the gradients of both tensors or
// of none.
template <std::size_t Heads, class... Options>
struct cross_core : detail::cross_core_message, detail::attention_constants_message {
  using options = detail::attention_options<Heads, Options...>;
  using extras = detail::extras_of_attention<options, Heads, detail::which_constant::last>;
  static constexpr bool options_are_right = detail::are_cross_options<Heads, Options...>;
  static constexpr std::size_t heads = options_are_right ? Heads : 1;
  static constexpr std::size_t key_heads = options_are_right ? options::key_heads : 1;

  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::both;

  static constexpr bool accepts(const arguments& in) {
    if (!in[0].is_real() || !in[1].is_real() || in[0].rank() != 2 || in[1].rank() != 2) return false;
    return in[0].last() % heads == 0 && in[0].last() > 0 && in[1].last() == 2 * key_heads * (in[0].last() / heads) &&
           in[0][0] <= ops::most_keys && in[1][0] <= ops::most_keys && !lacks_constant(in);
  }
  static constexpr bool lacks_constant(const arguments& in) { return extras::lacks_constant(in); }
  static constexpr tensor outputs(const arguments& in) { return tensor(in[0].extents); }
  static constexpr tensor_list tape(const arguments& in) { return tensor{heads, in[0][0]}.of(element::accumulated); }
  // In backward: the gradient of a tensor that has none in the network. The op makes both.
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    if (why != pass::backward || in[0].has_gradient == in[1].has_gradient) return {};
    return tensor(in[in[0].has_gradient ? 1 : 0].extents);
  }

  // As attention::core: two products forward, one more and four in backward, and softmax.
  static constexpr work flops(const arguments& in) {
    const std::size_t scores = heads * detail::pairs_in_band(in[0][0], in[1][0], options::band);
    const std::size_t product = 2 * scores * (in[0].last() / heads);
    const std::size_t more = detail::flops_of_extras<options>(scores), backward = 5 * product + 25 * scores + more;
    return {2 * product + 20 * scores + more, backward, backward};
  }

  template <class T, detail::attends_on<T, options::have_extras> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const ops::attention_operands<const T> in = columns(call, call.inputs[0], call.inputs[1]);
    const auto run = [&](const auto&... more) {
      attention_forward(queue, extents(call), call.outputs[0], call.tape.sums(0), in, more...);
    };
    if constexpr (options::have_extras) run(extras::template of<T>(call, call.why != pass::evaluate));
    else run();
  }

  template <class T, detail::attends_on<T, options::have_extras> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    T* const queries = call.in(0).has_gradient ? call.input_gradients[0] : call.workspace[0];
    T* const keys = call.in(1).has_gradient ? call.input_gradients[1] : call.workspace[0];
    if (queries == nullptr || keys == nullptr)
      throw error("attention: the backward pass of a cross_core makes the gradients of both tensors, expected memory for both, "
                  "found it for one");
    const auto run = [&](const auto&... more) {
      attention_backward(queue, extents(call), columns(call, queries, keys), call.output_gradients[0], call.outputs[0],
                         call.tape.sums(0), columns(call, call.inputs[0], call.inputs[1]), more...);
    };
    if constexpr (options::have_extras) run(extras::template of<T>(call, true));
    else run();
  }

private:
  template <class Call>
  static ops::attention_extents extents(const Call& call) {
    return {.samples = call.rows,
            .queries = call.in(0)[0],
            .keys = call.in(1)[0],
            .heads = heads,
            .key_heads = key_heads,
            .width = call.in(0).last() / heads,
            .band = options::band};
  }
  template <class Call, class T>
  static ops::attention_operands<T> columns(const Call& call, T* queries, T* keys) {
    const std::size_t stride = call.in(1).last();
    return {queries, keys, keys + stride / 2, call.in(0).last(), stride};
  }
};

} // namespace cairn::attention
