// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>

namespace cairn {

// Every feature gets mean 0 and variance 1 over the rows of a batch, then a weight and a bias, as
// torch.nn.BatchNorm1d(Features, eps, momentum). An input of any rank whose last extent is Features is a stack of such rows,
// so torch's (batch, features, length) lies as (batch, length, features) here. The weight starts as ones, the bias as zeros.
//
// In training the mean and the variance are those of the rows at hand: of this rank's part of a micro-batch. The buffers
// running_mean (0 at first) and running_var (1) move towards them by Momentum, once for each forward of a step and never
// again when a policy makes the output again; an evaluation reads them. torch's num_batches_tracked, which only counts,
// is left out, and a batch of one row, which torch refuses, leaves running_var as it is.
//
// Under ddp<> every rank moves its own running statistics, from its own rows. As in torch, those of rank 0 count: a model
// is evaluated and written where they are, and all ranks start with them. Where a rank was finished before others,
// trainer::join() gives all ranks those of the lowest rank that was there to the last step.
template <std::size_t Features, auto Eps = fraction{1, 100000}, auto Momentum = fraction{1, 10}>
struct BatchNorm1d {
  static_assert(Features > 0, "BatchNorm1d: it needs at least one feature; write BatchNorm1d<Features>");

  static constexpr double eps = static_cast<double>(Eps);
  static constexpr double momentum = static_cast<double>(Momentum);
  static constexpr tensor_list inputs{{Features}};
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true;
  static constexpr bool skips_gradients = true;

  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() > 0 && in[0].last() == Features; }
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
  static constexpr tensor_list parameters(const arguments&) {
    return {{"weight", {Features}, initial::constant(1)}, {"bias", {Features}, initial::constant(0)}};
  }
  static constexpr tensor_list buffers(const arguments&) {
    return {tensor{"running_mean", {Features}, initial::constant(0)}.of(element::accumulated),
            tensor{"running_var", {Features}, initial::constant(1)}.of(element::accumulated)};
  }

  // The means of the batch, then its variances. A forward whose tape is not kept has them in its workspace, which an
  // evaluation leaves unused.
  static constexpr tensor_list tape(const arguments&) { return statistics; }
  static constexpr tensor_list workspace(const arguments&, pass why) {
    if (why == pass::evaluate) return statistics;
    return {};
  }

  // Sums of x and x^2 and the result are 8 operations an element; the gradients of the parameters are 5, of the input 5.
  static constexpr work flops(const arguments& in) { return {8 * in[0].size(), 10 * in[0].size(), 5 * in[0].size()}; }

  template <class Queue, class T>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t rows = call.rows * rows_of(call.in(0));
    const T *const weight = call.parameters[0], *const bias = call.parameters[1];
    if (call.why == pass::evaluate) {
      batch_norm_evaluate(queue, rows, Features, eps, call.outputs[0], call.inputs[0], call.buffers.to_read().sums(0),
                          call.buffers.to_read().sums(1), weight, bias);
      return;
    }
    accumulated<T>* const of_batch = call.tape ? call.tape.sums(0) : call.workspace.sums(0);
    batch_norm_forward(queue, rows, Features, eps, call.outputs[0], of_batch, call.inputs[0], weight, bias);
    if (call.why == pass::forward)
      batch_norm_update(queue, rows, Features, momentum, call.buffers.sums(0), call.buffers.sums(1),
                        static_cast<const accumulated<T>*>(of_batch));
  }

  template <class Queue, class T>
  static void backward(Queue& queue, const backward_call<T>& call) {
    batch_norm_backward(queue, call.rows * rows_of(call.in(0)), Features, eps, call.input_gradients[0], call.gradients[0],
                        call.gradients[1], call.output_gradients[0], call.inputs[0], call.tape.sums(0), call.parameters[0]);
  }

private:
  static constexpr tensor_list statistics = tensor{2, Features}.of(element::accumulated).once();

  // How many rows of Features elements one sample is.
  static constexpr std::size_t rows_of(const tensor& in) { return in.size() / Features; }
};

} // namespace cairn
