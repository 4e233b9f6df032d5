// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn::detail {

struct dropout_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(Layer::asked >= 0 && Layer::asked <= 1,
                  "Dropout: a probability lies between 0 and 1; for 20 in 100 write Dropout<percent<20>>");
    return Layer::asked >= 0 && Layer::asked <= 1;
  }
};

} // namespace cairn::detail

namespace cairn {

// Sets each element to 0 with this probability and divides it by 1 - Probability otherwise, so that its mean stays. An
// evaluation changes nothing. As torch.nn.Dropout, with its default of a half: Dropout<percent<10>>, or Dropout<0.1> where
// the compiler accepts that.
//
// Backward needs nothing of the forward pass: the mask is drawn again, from the same counter.
template <auto Probability = percent<50>>
struct Dropout : detail::dropout_message {
  static constexpr double asked = static_cast<double>(Probability);
  static constexpr double probability = Dropout::template right<Dropout>() ? asked : 0.5; // 0.5 after an error

  static constexpr ops::dropout_rate rate = ops::dropout_rate::of(probability);

  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;
  static constexpr bool takes_tokens_apart = true;

  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class T, detail::dropout_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    if (call.why == pass::evaluate) copy(queue, count, call.outputs[0], call.inputs[0]);
    else dropout(queue, count, call.outputs[0], call.inputs[0], call.random, rate);
  }

  template <class T, detail::dropout_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    dropout(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0], call.random, rate);
  }
};

} // namespace cairn
