// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// The probability that an element is dropped, in units of 2^-32, and the factor of the others.
struct dropout_rate {
  std::uint64_t threshold; // 0 … 2^32
  double scale;            // 1 / (1 - probability), or 0 when all are dropped

  // That of a probability, 0 to 1.
  static constexpr dropout_rate of(double probability) {
    return {static_cast<std::uint64_t>(probability * 0x1p32), probability < 1 ? 1 / (1 - probability) : 0};
  }
};

// result_i = random_bits(key, i) < threshold ? 0 : scale x_i
//
// The mask is not stored: element i of the random stream decides about element i, so forward, recompute and backward (the same
// function of the output gradient) draw the same mask. The result may lie on x.
template <class T>
void dropout(detail::queue_without_this_op, std::size_t count, T* result, const T* x, const types::random_key& key,
             const dropout_rate& rate) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has this op of elements of type T.
template <class Queue, class T>
concept dropout_runs_on = requires(Queue& queue, std::size_t n, T* y, const T* x, const random_key& key,
                                   const dropout_rate& rate) { dropout(queue, n, y, x, key, rate); };

} // namespace cairn::detail
