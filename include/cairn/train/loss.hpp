// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/shape.hpp>

namespace cairn {

// Everything a loss is lent for one batch.
template <class T, class Target>
struct loss_call {
  std::size_t rows = 0;                // samples
  const shape* output_shape = nullptr; // of one sample
  const T* output = nullptr;           // (rows, output_shape)
  const Target* targets = nullptr;     // (rows, targets_per_sample)
  T* output_gradient =
      nullptr;            // of the loss by the output, like output, which it may overwrite; null: not wanted
  double* loss = nullptr; // one number
};

// A loss compares the output of a network with targets and makes one number of each batch, a mean over its
// rows.
//
// A type L is a loss if
//   1. L::accepts(s) says whether an output of shape s (batch left out) is acceptable;
//   2. L::targets_per_sample(s) is how many targets one sample has;
//   3. L::takes<T, Target> says whether a target may be a Target, where the output is made of T;
//   4. run(queue, loss_call<T, Target>) of a const L, or of the type, writes the loss, and its derivative by the output if
//      wanted;
//   5. equal inputs give equal bits, on any number of threads.
//
// It is a value, with a default: a trainer is given another in its options. It may have settings(), all its numbers as a
// range of double: then ranks that were given others refuse to start.
//
// Not required: that the loss of a batch is the mean of the losses of its parts; the last batch of an epoch
// may be smaller.
template <class L>
concept loss = std::copyable<L> && std::default_initializable<L> && requires(const shape& s) {
  { L::accepts(s) } -> std::convertible_to<bool>;
  { L::targets_per_sample(s) } -> std::convertible_to<std::size_t>;
};

} // namespace cairn
