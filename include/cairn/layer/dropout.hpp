// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <ratio>

#include <cairn/layer/layer.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn {

// A probability as a type: Dropout<percent<10>>. A float as a template argument would read as well, but clang
// 14 has none. Any std::ratio does.
template <std::intmax_t N>
using percent = std::ratio<N, 100>;

// Each number becomes 0 with this probability and is divided by 1 - Probability otherwise, so that its mean
// stays; when evaluating nothing changes. As torch.nn.Dropout, with its default of a half.
//
// Backward needs nothing of the forward pass: the mask is drawn again, from the same counter.
template <class Probability = percent<50>>
struct Dropout {
  static_assert(
      Probability::num >= 0 && Probability::num <= Probability::den,
      "Dropout: a probability lies between 0 and 1; write Dropout<percent<10>> or Dropout<std::ratio<1, 3>>");

  static constexpr dropout_rate rate = [] {
    constexpr double probability =
        static_cast<double>(Probability::num) / static_cast<double>(Probability::den);
    const auto threshold = static_cast<std::uint64_t>(probability * 0x1p32);
    return dropout_rate{threshold, probability < 1 ? 1 / (1 - probability) : 0};
  }();

  static constexpr reads backward_reads = reads::nothing;
  static constexpr bool in_place = true;

  static constexpr shape output_shape(const shape& in) { return in; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t count = call.rows * call.input_shape->size();
    if (call.why == pass::evaluate) copy(queue, count, call.output, call.input);
    else dropout(queue, count, call.output, call.input, call.random, rate);
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    if (call.input_gradient == nullptr) return;
    dropout(queue, call.rows * call.input_shape->size(), call.input_gradient, call.output_gradient,
            call.random, rate);
  }
};

} // namespace cairn
