// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/layer/loss_in_strips.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn::detail {

struct head_message {
  template <class Head>
  static constexpr bool right() {
    static_assert(Head::options_are_right,
                  "head_in_strips: expected a layer that can add to its gradients, and strips of at least one row; write "
                  "head_in_strips<Linear<In, Out>>, or head_in_strips<Tied<Linear<In, Out>, Owner>>");
    return Head::options_are_right;
  }
};

// Does a layer add to the gradients of its parameters if call.added_sums is set?
template <class Layer>
constexpr bool adds_to_gradients() {
  if constexpr (requires { Layer::adds_gradients; }) return Layer::adds_gradients;
  else return false;
}

} // namespace cairn::detail

namespace cairn {

// Computes what Layer computes, as the last element of a network. A training step does not keep its output: the layer, the loss
// and both gradients are computed for a strip of at most Rows rows of the last extent, then for the next one, so that only one
// strip of the output is in memory. For the logits of many classes, such as the words of a language:
//
//   Sequential<Inputs<integers<1024>>, Embedding<50257, 768>, ..., head_in_strips<Linear<768, 50257>>>
//
// With 4 samples, these logits are 785 MiB, and a strip of them is 46 MiB. The weights are packed for each strip: more rows are
// quicker. An evaluation has the whole output.
//
// Layer is a Linear, or a Tied one. The loss is one that can be computed in strips, as CrossEntropyLoss. The gradients of inputs
// have the bits of the layer alone. Those of its parameters are sums over the strips, in their order; its length depends on the
// number of rows of a call and on Rows only, so policies, threads and ranks do not change a bit.
template <class Layer, std::size_t Rows = 240>
struct head_in_strips : Layer, detail::head_message {
  using layer_alone = Layer; // the same function without strips
  static constexpr bool in_strips = true;
  static constexpr bool fuses = false;
  static constexpr bool adds = false;
  static constexpr bool strided = false;
  static constexpr bool options_are_right = Rows > 0 && detail::adds_to_gradients<Layer>();

  using detail::head_message::right;

  // A row of sums that are added to a gradient, and one strip of the output.
  static constexpr tensor_list workspace(const arguments& in, pass why) {
    if (why != pass::backward) return {};
    const std::size_t columns = output_of(in).last();
    return {tensor({columns}).of(element::accumulated).once(), tensor({Rows, columns}).once()};
  }

  template <class Queue, class T>
    requires requires(Queue& queue, const forward_call<T>& call) { Layer::forward(queue, call); }
  static void forward(Queue& queue, const forward_call<T>& call) {
    if (!call.passes_on) return Layer::forward(queue, call);
    copy(queue, call.rows * call.in(0).size(), call.outputs[0], call.inputs[0]);
  }

  // In strips the gradient of the output is where forward has passed the input on, so it is the input. The gradient of the input
  // may lie there too: a strip's rows are overwritten after their last use.
  template <class Queue, class T>
    requires requires(Queue& queue, const backward_call<T>& call) { Layer::backward(queue, call); }
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.strips == nullptr) return Layer::backward(queue, call);
    const tensor row = tensor({call.in(0).last()});
    const arguments given{&row, 1, call.given->constants()};
    const std::size_t width = row.size(), columns = output_of(given).last();
    const std::size_t all = call.rows * (call.in(0).size() / width), rows = detail::rows_of_strips(all, Rows);
    T* const logits = call.workspace[1];
    for (std::size_t first = 0; first < all; first += rows) {
      const std::size_t count = std::min(rows, all - first);
      const T* const x = call.output_gradients[0] + first * width;
      forward_call<T> make;
      make.rows = count;
      make.given = &given;
      make.inputs = detail::one_tensor(x);
      make.outputs = detail::one_tensor(logits);
      make.constants = call.constants;
      make.parameters = call.parameters;
      make.tied = call.tied;
      Layer::forward(queue, make);
      (*call.strips)({logits, columns, first, count, all});
      backward_call<T> back = call;
      back.rows = count;
      back.given = &given;
      back.inputs = detail::one_tensor(x);
      back.output_gradients = detail::one_tensor(static_cast<const T*>(logits));
      if (call.input_gradients) back.input_gradients = detail::one_tensor(call.input_gradients[0] + first * width);
      back.strips = nullptr;
      if (first > 0) back.added_sums = call.workspace.sums(0);
      Layer::backward(queue, back);
    }
  }

private:
  static constexpr tensor output_of(const arguments& in) {
    if constexpr (std::is_same_v<decltype(Layer::outputs(in)), tensor>) return Layer::outputs(in);
    else return tensor_list(Layer::outputs(in))[0];
  }
};

} // namespace cairn
