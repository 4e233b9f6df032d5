// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/layer.hpp>
#include <cairn/ops/embedding/embedding.hpp>

namespace cairn {

// A vector of Width elements for each token, as torch.nn.Embedding(Vocabulary, Width): tokens of any shape become that
// shape with Width behind it. Rows of the weight start normal with deviation 1.
//
// Tokens are integers 0 … Vocabulary - 1. Any other throws cairn::error in the forward, before a row is read: nothing has
// been updated then. They have no gradient, so below an Embedding nothing runs backward. The gradient of the weight is a
// whole tensor, rows of tokens that did not come included, and adds the samples in their order.
template <std::size_t Vocabulary, std::size_t Width>
struct Embedding {
  static_assert(Vocabulary > 0 && Width > 0,
                "Embedding: it needs at least one token and one element for it; write Embedding<Vocabulary, Width>");
  static_assert(Vocabulary <= 0x7FFFFFFF, "Embedding: a token is an int32; the vocabulary has at most 2147483647");

  static constexpr reads backward_reads = reads::input;
  static constexpr bool skips_gradients = true;

  static constexpr bool accepts(const arguments& in) {
    return in[0].type == element::int32 && !in[0].per_batch && in[0].rank() < shape::max_rank;
  }
  static constexpr tensor outputs(const arguments& in) {
    shape out = in[0].extents;
    out.push_back(Width);
    return out;
  }
  static constexpr tensor_list parameters(const arguments&) { return {{"weight", {Vocabulary, Width}, initial::normal(1)}}; }

  // One copy, and one sum for the gradient, of each element.
  static constexpr work flops(const arguments& in) { return {in[0].size() * Width, in[0].size() * Width, 0}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    embedding_forward(queue, call.rows * call.in(0).size(), Vocabulary, Width, call.outputs[0], call.parameters[0],
                      call.inputs.integers(0));
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.gradients) return;
    embedding_backward(queue, call.rows * call.in(0).size(), Vocabulary, Width, call.gradients[0], call.output_gradients[0],
                       call.inputs.integers(0));
  }
};

} // namespace cairn
