// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>
#include <cairn/train/losses/loss.hpp>

namespace cairn::detail {

// A mean over all elements, with the call's scale of the gradient where a trainer may give one.
template <class Queue, class T, class Term, class Slope>
void mean_of_scaled_terms(Queue& queue, const loss_call<T, accumulated<T>>& call, const Term& term, const Slope& slope) {
  const std::size_t count = call.rows * call.output_shape->size();
  mean_of_terms(queue, call.loss, call.output_gradient, count, call.output, call.targets, term, slope, call.gradient_scale);
}

// A loss that is a mean over all elements of all rows: each has a target of its own.
struct element_loss {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  static constexpr bool scales_gradient = true;

protected:
  template <class Queue, floating_element T, class Term, class Slope>
  static void mean(Queue& queue, const loss_call<T, accumulated<T>>& call, const Term& term, const Slope& slope) {
    mean_of_scaled_terms(queue, call, term, slope);
  }
};

} // namespace cairn::detail
