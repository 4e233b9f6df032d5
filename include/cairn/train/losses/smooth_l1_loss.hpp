// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/smooth_l1/smooth_l1.hpp>
#include <cairn/train/losses/loss.hpp>
#include <cairn/train/settings.hpp>

namespace cairn {

// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, with d = output - target, averaged over all elements of all rows, as
// torch.nn.SmoothL1Loss (Girshick: Fast R-CNN, 2015).
struct SmoothL1Loss {
  double beta = 1;

  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  std::array<double, 1> settings() const { return {beta}; }

  template <class Queue, floating_element T>
  void run(Queue& queue, const loss_call<T, accumulated<T>>& call) const {
    detail::check_number("SmoothL1Loss: expected a beta of 0 or more", beta);
    smooth_l1(queue, call.loss, call.output_gradient, call.rows * call.output_shape->size(), call.output, call.targets, beta);
  }
};

static_assert(loss<SmoothL1Loss>);

} // namespace cairn
