// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn {

// Each element becomes 0 with this probability and is divided by 1 - Probability otherwise, so that its mean
// stays; when evaluating nothing changes. As torch.nn.Dropout, with its default of a half: Dropout<percent<10>>, or
// Dropout<0.1> where the compiler takes that.
//
// Backward needs nothing of the forward pass: the mask is drawn again, from the same counter.
template <auto Probability = percent<50>>
struct Dropout {
  static constexpr double probability = static_cast<double>(Probability);
  static_assert(probability >= 0 && probability <= 1,
                "Dropout: a probability lies between 0 and 1; write Dropout<percent<10>> or Dropout<fraction{1, 3}>");

  static constexpr dropout_rate rate{static_cast<std::uint64_t>(probability * 0x1p32),
                                     probability < 1 ? 1 / (1 - probability) : 0};

  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;

  static constexpr tensor outputs(const arguments& in) { return in[0]; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t count = call.rows * call.in(0).size();
    if (call.why == pass::evaluate) copy(queue, count, call.outputs[0], call.inputs[0]);
    else dropout(queue, count, call.outputs[0], call.inputs[0], call.random, rate);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (!call.input_gradients) return;
    dropout(queue, call.rows * call.in(0).size(), call.input_gradients[0], call.output_gradients[0], call.random,
            rate);
  }
};

} // namespace cairn
