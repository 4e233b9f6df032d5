// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/shape.hpp>

namespace cairn {

// The arguments of a loss.
template <class T, class Target>
struct loss_call {
  std::size_t rows = 0;                      // samples, 1 … batch
  const shape* output_shape = nullptr;       // of one sample
  const T* output = nullptr;                 // (rows, output_shape)
  const Target* targets = nullptr;           // (rows, targets_per_sample)
  T* output_gradient = nullptr;              // (rows, output_shape); may be the memory of output; null: not wanted
  double* loss = nullptr;                    // one number in the device's memory
  const accumulated<T>* constants = nullptr; // the loss's own, in memory that ops can read: see constants() below
  const double* gradient_scale = nullptr;    // what to multiply the derivative by: see scales_gradient below; null: 1
  // For a loss in strips, if all_rows > 0: output and gradient are a strip of an output of all_rows rows, those from first_row
  // on, and the targets are those of all of them.
  std::size_t first_row = 0, all_rows = 0;
};

// A loss compares the output of a network with targets and computes one number for each batch, a mean over its rows.
//
// A type L is a loss if
//   1. L::accepts(s), a constant expression, says whether an output of shape s (batch left out) is acceptable;
//   2. L::targets_per_sample(s), a constant expression, is how many targets one sample has;
//   3. L::takes<T, Target>, a constant, says whether targets may be of type Target if the output has elements of type T;
//   4. run(queue, loss_call<T, Target>), a const or static member, writes the loss and, if it is wanted, its derivative by every
//      element of the output, which contains the 1 / rows of the mean. Output and derivative may be the same memory: an
//      element of the derivative is written after the last use of that element of the output;
//   5. equal inputs give equal bits, on any number of threads;
//   6. it is a value with a default; the options of a trainer may contain another value.
//
// It may have settings(), all its numbers as a range of double: ranks with different settings then refuse to start. It may have
// check_targets(const Target* targets, std::size_t rows, const shape& output), which throws input_error: the trainer calls it on
// the host, before a step begins, so that a wrong target changes no layer. It may have constants<T>(), a std::span<const T> of
// numbers for its ops, with static constexpr most_constants(const shape& output), the largest number of them: run() then finds
// them at call.constants, on every device.
//
// It may have scales_gradient, a constant: whether run() multiplies the derivative, before it is rounded to T, by
// *call.gradient_scale where that is not null: a number in the device's memory, which its ops read. A trainer with the option
// loss_scale expects it; the loss itself is not multiplied.
//
// It may have runs_in_strips<Queue, T>, a constant: whether run() can compute it strip by strip, for a head_in_strips. The first
// strip overwrites *call.loss, the others add their part to it, of a mean over all rows.
//
// The loss of a batch need not be the mean of the losses of its parts; the last batch of an epoch may be smaller.
// examples/own_loss.cpp defines a loss.
template <class L>
concept loss = std::copyable<L> && std::default_initializable<L> && requires(const shape& s) {
  { L::accepts(s) } -> std::convertible_to<bool>;
  { L::targets_per_sample(s) } -> std::convertible_to<std::size_t>;
};

} // namespace cairn
