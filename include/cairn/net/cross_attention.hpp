// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/view.hpp>
#include <cairn/layer/cross_attention.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn::attention {

// First option of MultiheadAttention: attention of a sequence to another one, the memory, as in the decoder of a transformer.
// MultiheadAttention<C, Heads, attention::cross> takes (Tq, C) and the memory (Tk, C), and is
// torch.nn.MultiheadAttention(C, Heads, batch_first=True)(x, memory, memory), with torch's names: the first C rows of
// in_proj_weight project x to queries, the others the memory to keys and values.
//
// It makes (Tq, C), and the memory stays beside it for the layers after it: a Residual<LayerNorm<C>, MultiheadAttention<C, Heads,
// attention::cross>> makes (Tq, C) and the memory of both, and layers of one tensor leave the memory as it is. Other options are
// those of attention::cross_core.
struct cross {};

} // namespace cairn::attention

namespace cairn::detail {

// The gradient of a parameter whose output is not used.
struct no_gradient_of_rows {
  template <class Number>
  CAIRN_HOST_DEVICE Number operator()(Number) const {
    return Number{0};
  }
};

} // namespace cairn::detail

namespace cairn::attention {

// The first Linear of an attention of two tensors: x (Tq, C) and the memory (Tk, C) become queries (Tq, C), keys and values
// (Tk, Rows - C), and the memory. Its gradient is the sum of what comes by the keys and values and of what layers after this
// attention give.
template <std::size_t C, std::size_t Rows>
struct cross_in_proj {
  static constexpr std::size_t takes = 2;
  static constexpr reads backward_reads = reads::input;
  static constexpr bool input_gradient_on_input = true; // the gradients of parameters are made first
  static constexpr bool adds = true;
  static constexpr bool skips_gradients = true;

  static constexpr bool accepts(const arguments& in) { return is_sequence(in[0]) && is_sequence(in[1]); }
  static constexpr tensor_list outputs(const arguments& in) {
    return {in[0].with_last(C), in[1].with_last(Rows - C), in[1].with_last(C)};
  }
  static constexpr bool depends(std::size_t output, std::size_t input) { return (output == 0) == (input == 0); }
  static constexpr tensor_list parameters(const arguments& in) { return in_proj<C, Rows>::parameters(in); }
  static constexpr work flops(const arguments& in) {
    const std::size_t product = 2 * C * (C * in[0][0] + (Rows - C) * in[1][0]);
    const std::size_t sums = C * in[0][0] + (Rows - C) * in[1][0];
    return {product + sums + in[1].size(), 2 * product + sums + in[1].size(), product + in[1].size()};
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const part both[] = {queries(call), keys(call)};
    for (std::size_t k = 0; k < 2; ++k) {
      const part& p = both[k];
      ops::epilogue<T> then{};
      then.bias = call.parameters[1] + p.first;
      if (k == 0 && call.addend != nullptr) then.addend = {call.addend, p.rows, p.columns};
      matmul(queue, ops::matrix<T>{call.outputs[k], p.rows, p.columns}, ops::matrix<const T>{call.inputs[k], p.rows, C},
             ops::matrix<const T>{call.parameters[0] + p.first * C, p.columns, C}, ops::transpose::second,
             then); // (rows, columns) = (rows, C) x (columns, C)^T
    }
    copy(queue, call.rows * call.in(1).size(), call.outputs[2], call.inputs[1]);
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const part both[] = {queries(call), keys(call)};
    for (std::size_t k = 0; call.gradients && k < 2; ++k) weight_gradient(queue, call, both[k], k);
    for (std::size_t k = 0; k < 2; ++k) input_gradient(queue, call, both[k], k);
  }

private:
  // The rows of the weight for one of the two tensors, and the number of its rows in all samples.
  struct part {
    std::size_t first, columns, rows;
  };
  template <class Call>
  static part queries(const Call& call) {
    return {0, C, call.rows * call.in(0)[0]};
  }
  template <class Call>
  static part keys(const Call& call) {
    return {C, Rows - C, call.rows * call.in(1)[0]};
  }
  static constexpr bool is_sequence(const tensor& in) { return in.is_real() && in.rank() == 2 && in.last() == C; }

  template <class T, class Queue>
  static void weight_gradient(Queue& queue, const backward_call<T>& call, const part& p, std::size_t k) {
    using sum = accumulated<T>;
    sum* const weight = call.gradients[0] + p.first * C;
    sum* const bias = call.gradients[1] + p.first;
    if (call.output_gradients[k] == nullptr) {
      elementwise(queue, p.columns * C, detail::no_gradient_of_rows{}, weight, static_cast<const sum*>(weight));
      elementwise(queue, p.columns, detail::no_gradient_of_rows{}, bias, static_cast<const sum*>(bias));
      return;
    }
    ops::epilogue<T> sums{};
    sums.row_sums = bias;
    matmul(queue, ops::matrix<sum>{weight, p.columns, C}, ops::matrix<const T>{call.output_gradients[k], p.rows, p.columns},
           ops::matrix<const T>{call.inputs[k], p.rows, C}, ops::transpose::first,
           sums); // (columns, C) = (rows, columns)^T x (rows, C)
  }

  template <class T, class Queue>
  static void input_gradient(Queue& queue, const backward_call<T>& call, const part& p, std::size_t k) {
    T* const to = call.input_gradients[k];
    const T* const addend = k == 0 ? call.addend : call.output_gradients[2];
    if (to == nullptr) return;
    if (call.output_gradients[k] == nullptr) {
      copy(queue, p.rows * C, to, addend); // of the memory alone
      return;
    }
    ops::epilogue<T> then{};
    if (addend != nullptr) then.addend = {addend, p.rows, C};
    matmul(queue, ops::matrix<T>{to, p.rows, C}, ops::matrix<const T>{call.output_gradients[k], p.rows, p.columns},
           ops::matrix<const T>{call.parameters[0] + p.first * C, p.columns, C}, ops::transpose::none,
           then); // (rows, C) = (rows, columns) x (columns, C)
  }
};

} // namespace cairn::attention

namespace cairn::detail {

struct cross_attention_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(
        is_right<Wrong>,
        "MultiheadAttention: of two tensors, its number of heads divides its width, attention::cross is its first option, and "
        "the others are at most one mask (attention::full, causal, window<N> with N above 0), at most one "
        "attention::key_heads<N>, where N divides the number of heads, and attention::added_mask, attention::key_lengths and "
        "attention::dropout<P> once each; write MultiheadAttention<128, 4, attention::cross>; see wrong_cross_attention<type>");
    return false;
  }
};

// A MultiheadAttention of two tensors with invalid template arguments.
template <class Layer>
struct wrong_cross_attention : cross_attention_message {};

template <std::size_t C, std::size_t Heads, class... Options>
struct made_of<MultiheadAttention<C, Heads, attention::cross, Options...>> {
  using layer_type = MultiheadAttention<C, Heads, attention::cross, Options...>;
  using options = attention_options<Heads, Options...>;
  static constexpr part_kind as = part_kind::sequence;
  static constexpr std::size_t times = 1;
  static constexpr std::string_view name = "MultiheadAttention";
  static constexpr bool takes_one_place = true;
  static constexpr bool is_right = C > 0 && are_cross_options<Heads, Options...>&& C % (Heads == 0 ? 1 : Heads) == 0;
  using wrong = wrong_cross_attention<layer_type>;
  static constexpr std::size_t rows = is_right ? C + 2 * (C / (Heads == 0 ? 1 : Heads)) * options::key_heads : C + 1;
  using parts = pack<attention::cross_in_proj<C, rows>, attention::cross_core<Heads, Options...>, attention::out_proj<C>>;
  template <class...>
  using with = layer_type; // its parts follow from its arguments
};

} // namespace cairn::detail
