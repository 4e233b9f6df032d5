// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/embedding/embedding.hpp>

namespace cairn {

// Embedding<Vocabulary, Width, padding_idx<0>>: the row of this token starts at 0 and is not trained, as with torch's
// padding_idx.
template <std::size_t Token>
struct padding_idx {};

} // namespace cairn

namespace cairn::detail {

inline constexpr std::size_t no_padding = static_cast<std::size_t>(-1);
template <class Option>
inline constexpr std::size_t padding_token = no_padding; // for a type that is no option
template <std::size_t Token>
inline constexpr std::size_t padding_token<padding_idx<Token>> = Token;

struct embedding_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(Layer::has_padding_alone,
                  "Embedding: its only option is padding_idx<Token>; write Embedding<Vocabulary, Width, padding_idx<0>>");
    static_assert(!Layer::has_padding_alone || Layer::options_are_right,
                  "Embedding: padding_idx<Token> is a token of the vocabulary, from 0 to Vocabulary - 1");
    return Layer::options_are_right;
  }
};

struct no_gradient {
  template <class Number>
  CAIRN_HOST_DEVICE Number operator()(Number) const {
    return Number{0};
  }
};

} // namespace cairn::detail

namespace cairn {

// A vector of Width elements for each token, as torch.nn.Embedding(Vocabulary, Width): tokens of any shape become that shape
// with Width appended. The rows of the weight start normal with deviation 1.
//
// Tokens are integers 0 … Vocabulary - 1. Any other throws cairn::error in the forward pass, before a row is read and before
// anything is updated. Tokens have no gradient, so below an Embedding nothing runs backward. The gradient of the weight is a
// whole tensor, including rows of tokens that did not occur, and adds the samples in their order.
//
// With padding_idx<Token> that token's row always has a gradient of 0. It stays as it was initialised or loaded, unless
// weight decay or a layer that is tied to it moves it. The forward pass reads it like any other.
template <std::size_t Vocabulary, std::size_t Width, class... Options>
struct Embedding : detail::embedding_message {
  static_assert(Vocabulary > 0 && Width > 0,
                "Embedding: it needs at least one token and one element for it; write Embedding<Vocabulary, Width>");
  static_assert(Vocabulary <= 0x7FFFFFFF, "Embedding: a token is an int32; the vocabulary has at most 2147483647");

  static constexpr std::size_t padding = [] {
    std::size_t token = detail::no_padding;
    for (const std::size_t given : {detail::no_padding, detail::padding_token<Options>...}) token = given;
    return token;
  }();
  static constexpr bool has_padding_alone =
      sizeof...(Options) < 2 && ((detail::padding_token<Options> != detail::no_padding) && ...);
  static constexpr bool options_are_right = has_padding_alone && (padding == detail::no_padding || padding < Vocabulary);

  static constexpr reads backward_reads = reads::input;
  static constexpr bool takes_tokens_apart = true;
  static constexpr bool skips_gradients = true;

  static constexpr bool accepts(const arguments& in) {
    return in[0].type == element::int32 && !in[0].per_batch && in[0].rank() < shape::max_rank;
  }
  static constexpr tensor outputs(const arguments& in) {
    shape out = in[0].extents;
    out.push_back(Width);
    return out;
  }
  static constexpr tensor_list parameters(const arguments&) {
    const initial start = initial::normal(1);
    if constexpr (padding == detail::no_padding) return {{"weight", {Vocabulary, Width}, start}};
    else return {{"weight", {Vocabulary, Width}, start.with_zeros(padding * Width, (padding + 1) * Width)}};
  }

  // One copy, and one sum for the gradient, of each element.
  static constexpr work flops(const arguments& in) { return {in[0].size() * Width, in[0].size() * Width, 0}; }

  template <class T, detail::embedding_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    embedding_forward(queue, call.rows * call.in(0).size(), Vocabulary, Width, call.outputs[0], call.parameters[0],
                      call.inputs.integers(0));
  }

  template <class T, detail::embedding_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.gradients) return;
    embedding_backward(queue, call.rows * call.in(0).size(), Vocabulary, Width, call.gradients[0], call.output_gradients[0],
                       call.inputs.integers(0));
    if constexpr (padding != detail::no_padding) {
      accumulated<T>* const row = call.gradients[0] + padding * Width;
      elementwise(queue, Width, detail::no_gradient{}, row, static_cast<const accumulated<T>*>(row));
    }
  }
};

} // namespace cairn
