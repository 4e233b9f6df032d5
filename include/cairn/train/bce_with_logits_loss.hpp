// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/train/element_loss.hpp>
#include <cairn/train/loss.hpp>

namespace cairn {

// -t log p - (1 - t) log(1 - p) with p = 1 / (1 + e^-output) and targets t from 0 to 1, averaged over all elements of all
// rows, as torch.nn.BCEWithLogitsLoss.
struct BCEWithLogitsLoss : detail::element_loss {
  template <class Queue, floating_element T>
  static void run(Queue& queue, const loss_call<T, accumulated<T>>& call) {
    bce_with_logits(queue, call.loss, call.output_gradient, elements(call), call.output, call.targets);
  }
};

static_assert(loss<BCEWithLogitsLoss>);

} // namespace cairn
