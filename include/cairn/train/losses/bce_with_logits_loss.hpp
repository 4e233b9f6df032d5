// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/train/losses/class_weights.hpp>
#include <cairn/train/losses/loss.hpp>

namespace cairn {

// -w t log p - (1 - t) log(1 - p) with p = 1 / (1 + e^-output) and targets t from 0 to 1, averaged over all elements of all
// rows, as torch.nn.BCEWithLogitsLoss. w is the pos_weight: one for all, or one for each element of the innermost extent, which
// raises recall above 1 and precision below.
struct BCEWithLogitsLoss {
  class_weights pos_weight{}; // [1]

  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  const std::vector<double>& settings() const { return pos_weight.values(); }

  template <class Target>
  void check_targets(const Target*, std::size_t, const shape& output) const {
    check(output);
  }

  // The weights.
  static constexpr std::size_t most_constants(const shape& output) { return columns_of(output); }
  template <class T>
  std::span<const T> constants() const {
    return {pos_weight.data<T>(), pos_weight.size()};
  }

  template <class Queue, floating_element T>
  void run(Queue& queue, const loss_call<T, accumulated<T>>& call) const {
    const std::size_t count = call.rows * call.output_shape->size();
    if (pos_weight.size() == 0) return bce_with_logits(queue, call.loss, call.output_gradient, count, call.output, call.targets);
    check(*call.output_shape);
    const accumulated<T>* const weights =
        call.constants != nullptr ? call.constants : pos_weight.template data<accumulated<T>>(); // a call of the op alone
    bce_with_logits(queue, call.loss, call.output_gradient, count, call.output, call.targets, weights, pos_weight.size());
  }

private:
  static constexpr std::size_t columns_of(const shape& output) { return output.rank == 0 ? 1 : output.last(); }
  void check(const shape& output) const {
    if (pos_weight.size() > 1 && pos_weight.size() != columns_of(output))
      throw input_error("BCEWithLogitsLoss: expected one pos_weight, or one for each of " + std::to_string(columns_of(output)) +
                        " outputs, found " + std::to_string(pos_weight.size()));
  }
};

static_assert(loss<BCEWithLogitsLoss>);

} // namespace cairn
