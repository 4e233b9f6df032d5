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
struct adam_coefficients {
  double scale;   // of the gradient
  T keep_mean;    // beta_1
  T fresh_mean;   // 1 - beta_1
  T keep_square;  // beta_2
  T fresh_square; // 1 - beta_2
  T correction;   // 1 / sqrt(1 - beta_2^step)
  T eps;
  T rate;                         // learning rate / (1 - beta_1^step)
  T weight_decay;                 // added to the gradient: Adam
  T shrink;                       // parameters are multiplied by it first: 1 - learning rate x weight decay of AdamW, else 1
  const double* factor = nullptr; // a number in the device's memory that multiplies the scale; null: 1
  skip_decision decision{};       // whether the update is made, and which one it is
  T correction_if_one_less = 0;   // in place of `correction` and `rate` if its number is 1 less than the host knew
  T rate_if_one_less = 0;

  // Those of the update that the device has decided on.
  CAIRN_HOST_DEVICE adam_coefficients decided() const {
    adam_coefficients c = *this;
    if (decision.is_one_less()) {
      c.correction = correction_if_one_less;
      c.rate = rate_if_one_less;
    }
    return c;
  }
};

// For each of `count` elements
//   p = shrink p;  g = scale g + weight_decay p
//   m = beta_1 m + (1 - beta_1) g;  s = beta_2 s + (1 - beta_2) g^2
//   p = p - rate m / (sqrt(s) correction + eps)
//
// Mean and square must be zeros before the first step. The formulas are those of torch.optim.Adam and AdamW
// (Kingma, Ba: Adam, a method for stochastic optimization. arXiv:1412.6980; Loshchilov, Hutter: Decoupled
// weight decay regularization. arXiv:1711.05101).
template <class T>
void adam(detail::queue_without_this_op, std::size_t count, T* parameters, T* mean, T* square, const T* gradients,
          const std::type_identity_t<adam_coefficients<T>>& coefficients) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has this op of elements of type T.
template <class Queue, class T>
concept adam_runs_on =
    requires(Queue& queue, std::size_t n, T* y, const T* x, const adam_coefficients<T>& c) { adam(queue, n, y, y, y, x, c); };

} // namespace cairn::detail
