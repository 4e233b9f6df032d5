// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/mean_squared_error/mean_squared_error.hpp>
#include <cairn/train/losses/element_loss.hpp>
#include <cairn/train/losses/loss.hpp>

namespace cairn {

// The mean of (output - target)^2 over all numbers of all rows, as torch.nn.MSELoss.
struct MSELoss : detail::element_loss {
  template <class Queue, floating_element T>
  static void run(Queue& queue, const loss_call<T, accumulated<T>>& call) {
    mean_squared_error(queue, call.loss, call.output_gradient, elements(call), call.output, call.targets);
  }
};

static_assert(loss<MSELoss>);

} // namespace cairn
