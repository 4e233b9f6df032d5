// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp>
#include <cairn/train/samples.hpp>

namespace cairn::detail {

// The outputs of a network: a tensor_view, or another type with rows of one shape.
template <class Outputs>
concept scores = numbers<Outputs> && requires(const Outputs& outputs) {
  { outputs.sample_shape().last() } -> std::convertible_to<std::size_t>;
};

// As an ignore_index: every target counts.
inline constexpr std::int64_t counts_all = ops::cross_entropy_options<float>::ignores_nothing;

template <class T>
std::size_t place_of_largest(const T* from, std::size_t count) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i)
    if (from[i] > from[best] || (from[i] != from[i] && from[best] == from[best])) best = i;
  return best;
}

// Calls f(scores of all classes, number of classes, target) for each target among classes, but for those that are `ignored`:
// one for each row of outputs, or for each index before the innermost. `who` is named in errors.
template <scores Outputs, numbers Targets, class F>
void for_each_decision(const char* who, const Outputs& outputs, const Targets& targets, std::int64_t ignored, const F& f) {
  static_assert(std::integral<number_of<Targets>>,
                "accuracy and other metrics of classes: targets are class numbers, which are integers");
  const std::size_t classes = outputs.sample_shape().last();
  if (classes < 2)
    throw input_error(std::string(who) + ": expected outputs for 2 classes or more, found " + std::to_string(classes) +
                      ", of which the largest is always right; compare a single logit with 0");
  const std::size_t decisions = outputs.size() / classes;
  if (static_cast<std::size_t>(targets.size()) != decisions)
    throw input_error(std::string(who) + ": expected a target for each of the " + std::to_string(decisions) +
                      " decisions among " + std::to_string(classes) + " classes, found " + std::to_string(targets.size()));
  const auto* const all = first_number(targets);
  for (std::size_t i = 0; i < decisions; ++i)
    if (!std::cmp_equal(+all[i], ignored)) f(outputs.data() + i * classes, classes, +all[i]);
}

// The same where the target must be the number of a class, which f receives as a std::size_t.
template <scores Outputs, numbers Targets, class F>
void for_each_class(const char* who, const Outputs& outputs, const Targets& targets, std::int64_t ignored, const F& f) {
  for_each_decision(who, outputs, targets, ignored, [&](const auto* of, std::size_t classes, auto target) {
    if (std::cmp_less(target, 0) || std::cmp_greater_equal(target, classes))
      throw input_error(std::string(who) + ": expected targets from 0 to " + std::to_string(classes - 1) + ", found " +
                        std::to_string(target) + "; if it stands for 'no target', pass it as ignore_index");
    f(of, classes, static_cast<std::size_t>(target));
  });
}

// Calls f(logit, whether the target is positive) for each output, of a network with one logit for each yes or no.
template <numbers Outputs, numbers Targets, class F>
void for_each_logit(const char* who, const Outputs& outputs, const Targets& targets, const F& f) {
  if (static_cast<std::size_t>(outputs.size()) != static_cast<std::size_t>(targets.size()))
    throw input_error(std::string(who) + ": expected a target for each of the " + std::to_string(outputs.size()) +
                      " outputs, which are logits of 'yes', found " + std::to_string(targets.size()) +
                      "; for outputs of several classes, write their number");
  const auto* const all = first_number(targets);
  const auto* const from = first_number(outputs);
  for (std::size_t i = 0; i < static_cast<std::size_t>(targets.size()); ++i) {
    const auto target = static_cast<double>(all[i]);
    if (target != 0 && target != 1)
      throw input_error(std::string(who) + ": expected targets of 0 or 1, found " + std::to_string(target));
    f(static_cast<double>(from[i]), target == 1);
  }
}

} // namespace cairn::detail
