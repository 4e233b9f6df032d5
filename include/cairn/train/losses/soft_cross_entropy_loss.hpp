// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/soft_cross_entropy/soft_cross_entropy.hpp>
#include <cairn/train/losses/class_weights.hpp>
#include <cairn/train/losses/loss.hpp>

namespace cairn {

// -sum_c target_c log softmax(output)_c, averaged, as torch.nn.CrossEntropyLoss with class probabilities as targets: for
// distillation, mixup or uncertain labels. The innermost extent of the output is that of the classes, at least two; the mean is
// over all indices before it. There are as many targets as outputs, of type accumulated<T>. They need not add up to 1.
//
// It is separate from CrossEntropyLoss because targets as large as the outputs take memory where a step keeps them.
struct SoftCrossEntropyLoss {
  double label_smoothing = 0;    // the share of the targets, 0 … 1, that is spread evenly over all classes
  types::class_weights weight{}; // one for each class [all are 1]; the mean is still over rows, as in torch

  static constexpr bool accepts(const shape& output) { return output.rank > 0 && output.last() > 1; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = detail::floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  static constexpr bool scales_gradient = true;

  std::vector<double> settings() const {
    std::vector<double> all{label_smoothing};
    all.insert(all.end(), weight.values().begin(), weight.values().end());
    return all;
  }

  template <class Target>
  void check_targets(const Target*, std::size_t, const shape& output) const {
    check(output.last());
  }

  // The class weights.
  static constexpr std::size_t most_constants(const shape& output) { return output.last(); }
  template <class T>
  std::span<const T> constants() const {
    return {weight.data<T>(), weight.size()};
  }

  template <class Queue, detail::floating_element T>
    requires detail::soft_cross_entropy_runs_on<Queue, T>
  void run(Queue& queue, const loss_call<T, accumulated<T>>& call) const {
    using sum = accumulated<T>;
    const std::size_t classes = call.output_shape->last();
    check(classes);
    const sum* const weights = call.constants != nullptr ? call.constants : weight.template data<sum>(); // without a trainer
    const ops::matrix<const T> logits{call.output, call.rows * call.output_shape->size() / classes, classes};
    const sum* const of_classes = weight.size() == 0 ? nullptr : weights;
    soft_cross_entropy(queue, call.loss, call.output_gradient, logits, call.targets, of_classes, label_smoothing,
                       call.gradient_scale);
  }

private:
  void check(std::size_t classes) const {
    if (weight.size() != 0 && weight.size() != classes)
      throw input_error("SoftCrossEntropyLoss: expected a weight for each of " + std::to_string(classes) + " classes, found " +
                        std::to_string(weight.size()));
    if (!(label_smoothing >= 0 && label_smoothing <= 1))
      throw input_error("SoftCrossEntropyLoss: expected a label_smoothing from 0 to 1, found " + std::to_string(label_smoothing));
  }
};

static_assert(loss<SoftCrossEntropyLoss>);

} // namespace cairn
