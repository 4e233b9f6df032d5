// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/l1/l1.hpp>
#include <cairn/train/losses/element_loss.hpp>
#include <cairn/train/losses/loss.hpp>

namespace cairn {

// The mean of |output - target| over all elements of all rows, as torch.nn.L1Loss.
struct L1Loss : detail::element_loss {
  template <class Queue, floating_element T>
  static void run(Queue& queue, const loss_call<T, accumulated<T>>& call) {
    l1(queue, call.loss, call.output_gradient, elements(call), call.output, call.targets);
  }
};

static_assert(loss<L1Loss>);

} // namespace cairn
