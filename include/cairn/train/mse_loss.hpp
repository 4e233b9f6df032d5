// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/mean_squared_error/mean_squared_error.hpp>
#include <cairn/train/loss.hpp>

namespace cairn {

// The mean of (output - target)^2 over all numbers of all rows, as torch.nn.MSELoss.
struct MSELoss {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  template <class Queue, floating_element T>
  static void run(Queue& queue, const loss_call<T, accumulated<T>>& call) {
    mean_squared_error(queue, call.loss, call.output_gradient, call.rows * call.output_shape->size(), call.output, call.targets);
  }
};

static_assert(loss<MSELoss>);

} // namespace cairn
