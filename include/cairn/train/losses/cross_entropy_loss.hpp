// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>
#include <cairn/train/losses/class_weights.hpp>
#include <cairn/train/losses/loss.hpp>

namespace cairn {

// -log softmax(output)[target], averaged, as torch.nn.CrossEntropyLoss with class numbers as targets. The innermost extent of the
// output is that of the classes, at least two, as a single one would always be right. Each index before it has its own target.
//
// An integer that is no class number throws input_error before the step begins, unless it is ignore_index. (torch ignores
// -100 by default; here nothing is ignored by default.) Class probabilities as targets, which torch takes too, are in
// SoftCrossEntropyLoss: they need as much memory as the outputs.
struct CrossEntropyLoss {
  static constexpr std::int64_t ignores_nothing = ops::cross_entropy_options<float>::ignores_nothing;

  std::int64_t ignore_index = ignores_nothing; // a target that counts neither in the loss nor in the mean
  double label_smoothing = 0;                  // the share of a target, 0 … 1, that is spread evenly over all classes
  types::class_weights weight{};               // one for each class [all are 1]

  static constexpr bool accepts(const shape& output) { return output.rank > 0 && output.last() > 1; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size() / output.last(); }

  template <class, class Target>
  static constexpr bool takes = std::integral<Target>;
  template <class Queue, class T>
  static constexpr bool runs_in_strips = detail::softmax_cross_entropy_in_strips_runs_on<Queue, T, int>;

  static constexpr bool scales_gradient = true;

  // All numbers, which the ranks of a job compare before they begin.
  std::vector<double> settings() const {
    std::vector<double> all{static_cast<double>(ignore_index), label_smoothing};
    all.insert(all.end(), weight.values().begin(), weight.values().end());
    return all;
  }

  template <std::integral Target>
  void check_targets(const Target* targets, std::size_t rows, const shape& output) const {
    if (has_options()) check(output.last());
    detail::check_classes(targets, rows * targets_per_sample(output), output.last(),
                          ignore_index == ignores_nothing ? nullptr : &ignore_index);
  }

  // The class weights.
  static constexpr std::size_t most_constants(const shape& output) { return output.last(); }
  template <class T>
  std::span<const T> constants() const {
    return {weight.data<T>(), weight.size()};
  }

  template <class Queue, class T, class Target>
    requires detail::softmax_cross_entropy_runs_on<Queue, T, Target>
  void run(Queue& queue, const loss_call<T, Target>& call) const {
    const std::size_t classes = call.output_shape->last();
    const std::size_t rows = call.rows * targets_per_sample(*call.output_shape);
    const ops::matrix<const T> logits{call.output, rows, classes};
    if (!has_options() && call.all_rows == 0 && call.gradient_scale == nullptr)
      return softmax_cross_entropy(queue, call.loss, call.output_gradient, logits, call.targets);
    check(classes);
    const accumulated<T>* const weights =
        call.constants != nullptr ? call.constants : weight.template data<accumulated<T>>(); // called without a trainer
    const ops::cross_entropy_options<T> options{.ignore_index = ignore_index,
                                                .label_smoothing = label_smoothing,
                                                .class_weights = weight.size() == 0 ? nullptr : weights,
                                                .gradient_scale = call.gradient_scale};
    if constexpr (runs_in_strips<Queue, T>)
      if (call.all_rows > 0)
        return softmax_cross_entropy(queue, call.loss, call.output_gradient, logits, call.targets, options,
                                     ops::strip_of_rows{call.first_row, call.all_rows});
    softmax_cross_entropy(queue, call.loss, call.output_gradient, logits, call.targets, options);
  }

private:
  bool has_options() const { return ignore_index != ignores_nothing || label_smoothing != 0 || weight.size() != 0; }
  void check(std::size_t classes) const {
    if (weight.size() != 0 && weight.size() != classes)
      throw input_error("CrossEntropyLoss: expected a weight for each of " + std::to_string(classes) + " classes, found " +
                        std::to_string(weight.size()));
    if (!(label_smoothing >= 0 && label_smoothing <= 1))
      throw input_error("CrossEntropyLoss: expected a label_smoothing from 0 to 1, found " + std::to_string(label_smoothing));
  }
};

static_assert(loss<CrossEntropyLoss>);

} // namespace cairn
