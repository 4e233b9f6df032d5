// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>
#include <cairn/train/losses/class_weights.hpp>
#include <cairn/train/losses/element_loss.hpp>
#include <cairn/train/losses/loss.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// max(x, 0) - x t + log(1 + e^-|x|): the form that neither overflows nor cancels.
struct logit_error {
  static constexpr const char* name = "BCEWithLogitsLoss";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x, T target) const {
    const T positive = blend(x < T{0}, T{0}, x);
    return positive - x * target + logarithm_of_one_plus(exponential(-absolute(x)));
  }
};

struct logit_error_slope {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x, T target) const {
    return logistic(x) - target;
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// -w t log p - (1 - t) log(1 - p) with p = 1 / (1 + e^-output) and targets t from 0 to 1, averaged over all elements of all
// rows, as torch.nn.BCEWithLogitsLoss. w is the pos_weight: one for all, or one for each element of the innermost extent. Above 1
// it raises recall, below 1 precision.
struct BCEWithLogitsLoss {
  types::class_weights pos_weight{}; // [1]

  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = detail::floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  static constexpr bool scales_gradient = true;

  const std::vector<double>& settings() const { return pos_weight.values(); }

  template <class Target>
  void check_targets(const Target*, std::size_t, const shape& output) const {
    check(output);
  }

  // The elements of pos_weight.
  static constexpr std::size_t most_constants(const shape& output) { return columns_of(output); }
  template <class T>
  std::span<const T> constants() const {
    return {pos_weight.data<T>(), pos_weight.size()};
  }

  template <class Queue, detail::floating_element T>
    requires detail::bce_with_logits_runs_on<Queue, T>
  void run(Queue& queue, const loss_call<T, accumulated<T>>& call) const {
    if (pos_weight.size() == 0)
      return detail::mean_of_scaled_terms(queue, call, detail::logit_error{}, detail::logit_error_slope{});
    const std::size_t count = call.rows * call.output_shape->size();
    check(*call.output_shape);
    const accumulated<T>* const weights =
        call.constants != nullptr ? call.constants : pos_weight.template data<accumulated<T>>(); // called without a trainer
    bce_with_logits(queue, call.loss, call.output_gradient, count, call.output, call.targets, weights, pos_weight.size(),
                    call.gradient_scale);
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

#if CAIRN_WITH_COMPILED
#include <cairn/ops/mean_of_terms/cpu.hpp>

namespace cairn {

CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, float*, std::size_t, const float*, const float*,
                                                const detail::logit_error&, const detail::logit_error_slope&, const double*);
CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, double*, std::size_t, const double*, const double*,
                                                const detail::logit_error&, const detail::logit_error_slope&, const double*);

} // namespace cairn
#endif
