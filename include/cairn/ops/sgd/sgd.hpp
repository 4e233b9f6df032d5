// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>
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
  skip_decision decision{};       // whether the update is made, and which one it is
  T fresh_if_one_less = 0;        // in place of `fresh` if its number is 1 less than the host knew

  // Those of the update that the device has decided on.
  CAIRN_HOST_DEVICE sgd_coefficients decided() const {
    sgd_coefficients c = *this;
    if (decision.is_one_less()) c.fresh = fresh_if_one_less;
    return c;
  }
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
