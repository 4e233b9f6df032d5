// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/l1/l1.hpp>
#include <cairn/train/loss.hpp>

namespace cairn {

// The mean of |output - target| over all elements of all rows, as torch.nn.L1Loss.
struct L1Loss {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  template <class Queue, floating_element T>
  static void run(Queue& queue, const loss_call<T, accumulated<T>>& call) {
    l1(queue, call.loss, call.output_gradient, call.rows * call.output_shape->size(), call.output, call.targets);
  }
};

static_assert(loss<L1Loss>);

} // namespace cairn
