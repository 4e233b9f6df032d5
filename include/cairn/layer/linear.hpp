// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/constant_sqrt.hpp>
#include <cairn/core/view.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn {

// y = x W^T + b, as torch.nn.Linear: the weight is (Out, In), and an input of any rank whose last extent is
// In is a stack of such rows. Linear<784, 512, false> has no bias.
//
// Weight and bias start uniform in +-1 / sqrt(In), which is torch's kaiming_uniform with a = sqrt 5.
//
// A ReLU after it and a sum with another branch are computed by the product itself, on numbers still in registers; likewise
// the derivative of a ReLU before it.
template <std::size_t In, std::size_t Out, bool Bias = true>
struct Linear {
  static_assert(In > 0 && Out > 0, "Linear: it needs at least one input and one output; write Linear<In, Out>");

  static constexpr tensor_list inputs{{In}};
  static constexpr reads backward_reads = reads::input;
  static constexpr bool input_gradient_on_input = true; // the gradient of the weight is made first
  static constexpr bool fuses = true;
  static constexpr bool adds = true;
  static constexpr bool takes_tokens_apart = true;
  static constexpr bool strided = true;
  static constexpr bool skips_gradients = true;
  static constexpr bool adds_gradients = true; // the gradient of the weight is made before that of the input
  static constexpr bool packs_weight = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() > 0 && in[0].last() == In; }
  static constexpr tensor outputs(const arguments& in) { return in[0].with_last(Out); }

  static constexpr tensor_list parameters(const arguments&) {
    const initial start = initial::uniform(1 / detail::constant_sqrt(static_cast<double>(In)));
    if constexpr (Bias) return {{"weight", {Out, In}, start}, {"bias", {Out}, start}};
    else return {{"weight", {Out, In}, start}};
  }

  // A product of m x k by k x n is 2 m n k operations. Backward makes two of them: one for each factor.
  static constexpr work flops(const arguments& in) {
    const std::size_t rows = rows_of(in[0]);
    const std::size_t product = 2 * In * Out * rows;
    const std::size_t sums = Bias ? Out * rows : 0;
    return {product + sums, 2 * product + sums, product};
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t rows = call.rows * rows_of(call.in(0));
    const std::size_t stride = call.output_stride == 0 ? Out : call.output_stride;
    const ops::matrix<T> output{call.outputs[0], rows, Out, stride};
    ops::epilogue<T> then{};
    then.then = call.then;
    if constexpr (Bias) then.bias = call.parameters[1];
    if (call.addend != nullptr) then.addend = {call.addend, rows, Out};
    const ops::matrix<const T> input{call.inputs[0], rows, In};
    const ops::matrix<const T> weight{call.parameters[0], Out, In};
    if constexpr (detail::multiplies_by_packed<Queue, T>) matmul(queue, output, input, weight, call.packed, then);
    else matmul(queue, output, input, weight, ops::transpose::second, then); // (rows, Out) = (rows, In) x (Out, In)^T
  }

  template <class T, detail::matmul_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const std::size_t rows = call.rows * rows_of(call.in(0));
    const std::size_t stride = call.output_stride == 0 ? Out : call.output_stride;
    const ops::matrix<const T> input{call.inputs[0], rows, In};
    const ops::matrix<const T> output_gradient{call.output_gradients[0], rows, Out, stride};
    if (call.gradients) {
      ops::epilogue<T> sums{};
      if constexpr (Bias) sums.row_sums = call.added_sums == nullptr ? call.gradients[1] : call.added_sums;
      const ops::matrix<accumulated<T>> weight_gradient{call.gradients[0], Out, In};
      if (call.added_sums != nullptr) {
        if constexpr (detail::is_narrow<T>) sums.adds = true;
        else sums.addend = {call.gradients[0], Out, In};
      }
      matmul(queue, weight_gradient, output_gradient, input,
             ops::transpose::first, // (Out, In) = (rows, Out)^T x (rows, In)
             sums);
      if constexpr (Bias)
        if (call.added_sums != nullptr) add(queue, Out, call.gradients[1], call.gradients[1], call.added_sums);
    }
    if (!call.input_gradients) return;

    ops::epilogue<T> then{};
    if (call.addend != nullptr) then.addend = {call.addend, rows, In};
    if (call.before == ops::activation::relu) then.mask = input;
    const ops::matrix<T> input_gradient{call.input_gradients[0], rows, In};
    const ops::matrix<const T> weight{call.parameters[0], Out, In};
    matmul(queue, input_gradient, output_gradient, weight, ops::transpose::none,
           then); // (rows, In) = (rows, Out) x (Out, In)
  }

private:
  // The number of rows of In elements in one sample.
  static constexpr std::size_t rows_of(const tensor& in) { return in.size() / In; }
};

} // namespace cairn
