// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/shape.hpp>

namespace cairn {

// Everything that a loss works on.
template <class T, class Target>
struct loss_call {
  std::size_t rows = 0;                      // samples, 1 … batch
  const shape* output_shape = nullptr;       // of one sample
  const T* output = nullptr;                 // (rows, output_shape)
  const Target* targets = nullptr;           // (rows, targets_per_sample)
  T* output_gradient = nullptr;              // (rows, output_shape); may be the memory of output; null: not wanted
  double* loss = nullptr;                    // one number in the device's memory
  const accumulated<T>* constants = nullptr; // the loss's own, where ops can read them: see constants() below
};

// A loss compares the output of a network with targets and makes one number of each batch, a mean over its rows.
//
// A type L is a loss if
//   1. L::accepts(s), a constant expression, says whether an output of shape s (batch left out) is acceptable;
//   2. L::targets_per_sample(s), a constant expression, is how many targets one sample has;
//   3. L::takes<T, Target>, a constant, says whether a target may be a Target, where the output is made of T;
//   4. run(queue, loss_call<T, Target>) of a const L, or of the type, writes the loss and, if it is wanted, its derivative by
//      every element of the output, which contains the 1 / rows of the mean. Output and derivative may be the same memory:
//      an element of the derivative is written after the last use of that element of the output;
//   5. equal inputs give equal bits, on any number of threads;
//   6. it is a value, with a default: a trainer is given another in its options.
//
// It may have settings(), all its numbers as a range of double: then ranks that were given others refuse to start. It may
// have check_targets(const Target* targets, std::size_t rows, const shape& output), which throws input_error: the
// trainer calls it on the host, before a step begins, so that a wrong target leaves no trace in a layer. It may have
// constants<T>(), a std::span<const T> of numbers for its ops, with static constexpr most_constants(const shape& output), the
// most there are: run() then finds them at call.constants, on every device.
//
// Not required: that the loss of a batch is the mean of the losses of its parts; the last batch of an epoch
// may be smaller. examples/own_loss.cpp is a loss of one's own.
template <class L>
concept loss = std::copyable<L> && std::default_initializable<L> && requires(const shape& s) {
  { L::accepts(s) } -> std::convertible_to<bool>;
  { L::targets_per_sample(s) } -> std::convertible_to<std::size_t>;
};

} // namespace cairn
