// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/constant_sqrt.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/layer/attention.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/read_attention_options.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn {

// Self-attention of a sequence, as torch.nn.MultiheadAttention(C, Heads, batch_first=True) of one tensor: (T, C) becomes (T, C).
// The options are a mask (attention::causal, attention::window<N>; without one all tokens look at all) and
// attention::key_heads<N>, attention::added_mask, attention::key_lengths and attention::dropout<P>, or
// attention::stored_probabilities, in any order.
//
// It is three stages of the chain around it, a Linear to queries, keys and values, attention::core without parameters, and a
// Linear back to C. So a policy stores or recomputes what lies between them, and a Residual's sum is computed by the last. They
// take one place in names, with torch's names and initial values: in_proj_weight is Xavier's uniform, out_proj.weight as a
// Linear's, biases start at 0. With fewer key heads, in_proj_weight has C + 2 C / Heads * N rows.
//
// A token that may look at no other is a row of zeros before the last Linear; torch has NaN there.
template <std::size_t C, std::size_t Heads, class... Options>
struct MultiheadAttention {};

} // namespace cairn

namespace cairn::detail {

// A Linear for the rows of a sequence. It does not say which input a network has that begins with it: the number of tokens is not
// known.
template <std::size_t In, std::size_t Out>
struct linear_of_tokens {
  using linear = Linear<In, Out>;
  static constexpr reads backward_reads = linear::backward_reads;
  static constexpr bool fuses = true, adds = true, strided = true, skips_gradients = true, packs_weight = true,
                        takes_tokens_apart = true;

  static constexpr bool accepts(const arguments& in) { return in[0].rank() == 2 && linear::accepts(in); }
  static constexpr tensor outputs(const arguments& in) { return linear::outputs(in); }
  static constexpr work flops(const arguments& in) { return linear::flops(in); }

  template <class T, matmul_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    linear::forward(queue, call);
  }
  template <class T, matmul_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    linear::backward(queue, call);
  }
};

} // namespace cairn::detail

namespace cairn::attention {

// The two Linears of a MultiheadAttention, as tables and diagnostics show them.
template <std::size_t C, std::size_t Rows>
struct in_proj : detail::linear_of_tokens<C, Rows> {
  static constexpr tensor_list parameters(const arguments&) {
    const initial start = initial::uniform(detail::constant_sqrt(6 / static_cast<double>(C + Rows)));
    return {{"in_proj_weight", {Rows, C}, start}, {"in_proj_bias", {Rows}, initial::constant(0)}};
  }
};
template <std::size_t C>
struct out_proj : detail::linear_of_tokens<C, C> {
  static constexpr tensor_list parameters(const arguments&) {
    const initial start = initial::uniform(1 / detail::constant_sqrt(static_cast<double>(C)));
    return {{"out_proj.weight", {C, C}, start}, {"out_proj.bias", {C}, initial::constant(0)}};
  }
};

} // namespace cairn::attention

namespace cairn::detail {

struct multihead_attention_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "MultiheadAttention: its number of heads divides its width, and its options are at most one mask "
                  "(attention::full, causal, window<N> with N above 0), at most one attention::key_heads<N>, where N divides the "
                  "number of heads, and attention::added_mask, attention::key_lengths and attention::dropout<P>, P from 0 to 1, "
                  "once each, or attention::stored_probabilities; "
                  "write MultiheadAttention<128, 4, attention::causal>; see wrong_multihead_attention<type>");
    return false;
  }
};

// A MultiheadAttention with invalid template arguments.
template <class Layer>
struct wrong_multihead_attention : multihead_attention_message {};

template <std::size_t C, std::size_t Heads, class... Options>
struct made_of<MultiheadAttention<C, Heads, Options...>> {
  using layer_type = MultiheadAttention<C, Heads, Options...>;
  using options = attention_options<Heads, Options...>;
  static constexpr part_kind as = part_kind::sequence;
  static constexpr std::size_t times = 1;
  static constexpr std::string_view name = "MultiheadAttention";
  static constexpr bool takes_one_place = true;
  static constexpr bool is_right = C > 0 && options::are_right&& C % (Heads == 0 ? 1 : Heads) == 0;
  using wrong = wrong_multihead_attention<layer_type>;
  static constexpr std::size_t rows = is_right ? C + 2 * (C / (Heads == 0 ? 1 : Heads)) * options::key_heads : 1;
  using parts = pack<attention::in_proj<C, rows>, attention::core<Heads, Options...>, attention::out_proj<C>>;
  template <class...>
  using with = layer_type; // its parts follow from its arguments
};

} // namespace cairn::detail
