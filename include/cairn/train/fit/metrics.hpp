// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include <cairn/core/rooms.hpp>
#include <cairn/train/fit/accuracy.hpp>

namespace cairn::metrics {

// The sum and the count of a metric, over batches and then over ranks.
struct metric_sum {
  double sum = 0;
  double count = 0;

  metric_sum& operator+=(const metric_sum& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
};

} // namespace cairn::metrics

namespace cairn::detail {

// What a metric adds up over batches: its own type `sum`, a std::array<double, N>, or a metric_sum.
template <class M>
struct sum_of_metric {
  using type = metric_sum;
};
template <class M>
  requires requires { typename M::sum; }
struct sum_of_metric<M> {
  using type = typename M::sum;
};
template <class M>
using metric_sum_of = typename sum_of_metric<M>::type;

// Its numbers, one by one.
template <class Sum>
inline constexpr std::size_t numbers_of_sum = std::tuple_size_v<Sum>;
template <>
inline constexpr std::size_t numbers_of_sum<metric_sum> = 2;

inline void add_numbers(double* to, const metric_sum& part) {
  to[0] += part.sum;
  to[1] += part.count;
}
template <std::size_t Count>
void add_numbers(double* to, const std::array<double, Count>& part) {
  for (std::size_t i = 0; i < Count; ++i) to[i] += part[i];
}
template <class Sum>
Sum sum_from(const double* numbers) {
  if constexpr (std::is_same_v<Sum, metric_sum>) {
    return {numbers[0], numbers[1]};
  } else {
    Sum all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = numbers[i];
    return all;
  }
}

} // namespace cairn::detail

namespace cairn::metrics {

// A metric M of a validation is an object with
//   1. std::string name() const: "accuracy"; in the record of a run it is "val_accuracy";
//   2. metric_sum add(outputs, targets, loss) const: the part of one batch; outputs are (rows, output_shape), the loss is its
//      mean over the batch;
//   3. double value(const metric_sum&) const: the metric, from the sum over all batches and ranks.
// Where two numbers are not enough it has a type of its own in place of metric_sum: using sum = std::array<double, N>, of numbers
// that are added up over batches and ranks.
template <class M>
concept metric = requires(const M& m, const detail::metric_sum_of<M>& all) {
  { m.name() } -> std::convertible_to<std::string>;
  { m.value(all) } -> std::convertible_to<double>;
};

// The share, 0 ... 1, of targets that are the argmax of their outputs, as torchmetrics' multiclass Accuracy with micro average.
struct Accuracy {
  std::int64_t ignore_index = detail::counts_all; // this target does not count, as in CrossEntropyLoss

  std::string name() const { return "accuracy"; }
  template <class Outputs, class Targets>
  metric_sum add(const Outputs& outputs, const Targets& targets, double) const {
    const detail::right_of_all found = detail::count_right(outputs, targets, ignore_index);
    return {static_cast<double>(found.right), static_cast<double>(found.all)};
  }
  double value(const metric_sum& all) const { return all.sum / all.count; }
};

// exp of the mean loss over all targets, for a language model whose loss is CrossEntropyLoss without ignored targets.
struct Perplexity {
  std::string name() const { return "perplexity"; }
  template <class Outputs, class Targets>
  metric_sum add(const Outputs&, const Targets& targets, double loss) const {
    const auto count = static_cast<double>(targets.size());
    return {loss * count, count};
  }
  double value(const metric_sum& all) const { return std::exp(all.sum / all.count); }
};

// The mean of |output - target|, as torchmetrics' MeanAbsoluteError.
struct MeanAbsoluteError {
  std::string name() const { return "mean_absolute_error"; }
  template <class Outputs, class Targets>
  metric_sum add(const Outputs& outputs, const Targets& targets, double) const {
    metric_sum all{0, static_cast<double>(outputs.size())};
    const auto* const expected = detail::first_number(targets);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      all.sum += std::abs(static_cast<double>(outputs.data()[i]) - static_cast<double>(expected[i]));
    return all;
  }
  double value(const metric_sum& all) const { return all.sum / all.count; }
};

static_assert(metrics::metric<Accuracy> && metrics::metric<Perplexity> && metrics::metric<MeanAbsoluteError>);

} // namespace cairn::metrics
