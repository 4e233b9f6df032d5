// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/fraction.hpp>
#include <cairn/layer/layer.hpp>
#include <cairn/ops/batch_norm/batch_norm.hpp>

namespace cairn::detail {

// The common part of BatchNorm1d and BatchNorm2d: the rows of a batch of images are its pixels.
template <std::size_t Features, auto Eps, auto Momentum>
struct batch_norm_of_rows {
  static constexpr double eps = static_cast<double>(Eps);
  static constexpr double momentum = static_cast<double>(Momentum);
  static constexpr reads backward_reads = reads::input;
  static constexpr bool in_place = true, fuses = true;
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

  // The means of the batch, then its variances. A forward whose tape is not kept has them in its workspace.
  static constexpr tensor_list tape(const arguments&) { return statistics; }
  static constexpr tensor_list workspace(const arguments&, pass why) {
    if (why == pass::evaluate) return statistics;
    return {};
  }

  // The sums of x, x^2 and 1; in backward those of dy and dy (x - m).
  static constexpr summed_numbers sums_over_ranks(const arguments&) { return {2 * Features + 1, 2 * Features}; }

  // Sums of x and x^2 and the result are 8 operations an element; the gradients of the parameters are 5, of the input 5.
  static constexpr work flops(const arguments& in) { return {8 * in[0].size(), 10 * in[0].size(), 5 * in[0].size()}; }

  template <class T, batch_norm_runs_on<T> Queue>
  static void forward(Queue& queue, const forward_call<T>& call) {
    const std::size_t rows = call.rows * rows_of(call.in(0));
    const T *const x = call.inputs[0], *const weight = call.parameters[0], *const bias = call.parameters[1];
    const auto apply = [&](const accumulated<T>* mean, const accumulated<T>* variance) {
      batch_norm_evaluate(queue, rows, Features, eps, call.outputs[0], x, mean, variance, weight, bias, call.then);
    };
    accumulated<T>*const mean = call.buffers.sums(0), *const variance = call.buffers.sums(1);
    if (call.why == pass::evaluate) return apply(mean, variance);
    accumulated<T>* const of_batch = call.tape ? call.tape.sums(0) : call.workspace.sums(0);
    const bool moves = call.why == pass::forward;
    if (const layer_sums* const all = call.over_ranks) {
      if (!all->are_made) {
        batch_norm_sums(queue, rows, Features, all->numbers, x);
        all->sum(2 * Features + 1);
      }
      batch_norm_statistics(queue, Features, of_batch, all->numbers);
      apply(of_batch, of_batch + Features);
      if (moves) batch_norm_update(queue, Features, momentum, mean, variance, of_batch, all->numbers + 2 * Features);
    } else {
      batch_norm_forward(queue, rows, Features, eps, call.outputs[0], of_batch, x, weight, bias, call.then,
                         ops::running_statistics<T>{momentum, moves ? mean : nullptr, variance});
    }
  }

  template <class T, batch_norm_runs_on<T> Queue>
  static void backward(Queue& queue, const backward_call<T>& call) {
    const std::size_t rows = call.rows * rows_of(call.in(0));
    const T *const x = call.inputs[0], *const dy = call.output_gradients[0], *const weight = call.parameters[0];
    T* const dx = call.input_gradients[0];
    accumulated<T>*const dw = call.gradients[0], *const db = call.gradients[1];
    const accumulated<T>* const of_batch = call.tape.sums(0);
    if (const layer_sums* const all = call.over_ranks) {
      batch_norm_gradient_sums(queue, rows, Features, eps, all->numbers, dw, db, dy, x, of_batch);
      if (dx == nullptr) return;
      all->sum(2 * Features);
      batch_norm_input_gradient(queue, rows, Features, eps, dx, dy, x, of_batch, weight, all->numbers, call.before);
    } else batch_norm_backward(queue, rows, Features, eps, dx, dw, db, dy, x, of_batch, weight, call.before);
  }

private:
  static constexpr tensor_list statistics = tensor{2, Features}.of(element::accumulated).once();
  static constexpr std::size_t rows_of(const tensor& in) { return in.size() / Features; } // of a sample
};

} // namespace cairn::detail

namespace cairn {

// Every feature gets mean 0 and variance 1 over the rows of a batch, then a weight and a bias, as
// torch.nn.BatchNorm1d(Features, eps, momentum). An input of any rank whose last extent is Features is a stack of such rows,
// so torch's (batch, features, length) lies as (batch, length, features) here. The weight starts as ones, the bias as zeros.
//
// In training the mean and the variance are those of this rank's part of a micro-batch. The buffers running_mean (0 at first)
// and running_var (1) move towards them by Momentum, once for each forward of a step; a recompute does not move them, an
// evaluation reads them. torch's num_batches_tracked, which only counts, is left out. A batch of one row, which torch
// refuses, leaves running_var as it is.
//
// Under ddp<> every rank moves its own running statistics, from its own rows. As in torch, those of rank 0 count: the model
// is evaluated and written there, and all ranks start with them. If a rank finishes before others, trainer::join() gives all
// ranks those of the lowest rank that took part in the last step. With sync_batch_norm the statistics are those of the rows
// of all ranks, as torch.nn.SyncBatchNorm's, and all ranks move their running statistics alike.
template <std::size_t Features, auto Eps = fraction{1, 100000}, auto Momentum = fraction{1, 10}>
struct BatchNorm1d : detail::batch_norm_of_rows<Features, Eps, Momentum> {
  static_assert(Features > 0, "BatchNorm1d: it needs at least one feature; write BatchNorm1d<Features>");
  static constexpr tensor_list inputs{{Features}};
};

// The same for images that lie as (height, width, channels), as torch.nn.BatchNorm2d(Channels, eps, momentum): a channel gets
// mean 0 and variance 1 over all pixels of a batch. Everything else is as for BatchNorm1d.
template <std::size_t Channels, auto Eps = fraction{1, 100000}, auto Momentum = fraction{1, 10}>
struct BatchNorm2d : detail::batch_norm_of_rows<Channels, Eps, Momentum> {
  static_assert(Channels > 0, "BatchNorm2d: it needs at least one channel; write BatchNorm2d<Channels>");
  static constexpr bool accepts(const arguments& in) { return in[0].is_real() && in[0].rank() == 3 && in[0].last() == Channels; }
};

} // namespace cairn
