// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

template <class T>
struct sgd_coefficients {
  double scale; // of the gradient
  T learning_rate;
  T momentum; // 0: there is no velocity
  T fresh;    // how much of the gradient enters the velocity: 1 - dampening, but 1 in the first step
  T weight_decay;
  bool nesterov;
  const double* factor = nullptr; // a number in the device's memory that multiplies the scale; null: 1
};

// For each of `count` elements
//   g = scale g + weight_decay p
//   v = momentum v + fresh g;  g = nesterov ? g + momentum v : v       only with momentum
//   p = p - learning_rate g
//
// The velocity must be zeros before the first step; without momentum it may be null. These are the formulas
// of torch.optim.SGD, where the first step takes v = g, whatever the dampening.
template <class T>
void sgd(detail::queue_without_this_op, std::size_t count, T* parameters, T* velocity, const T* gradients,
         const std::type_identity_t<sgd_coefficients<T>>& coefficients) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has this op of elements of type T.
template <class Queue, class T>
concept sgd_runs_on =
    requires(Queue& queue, std::size_t n, T* y, const T* x, const sgd_coefficients<T>& c) { sgd(queue, n, y, y, x, c); };

} // namespace cairn::detail
