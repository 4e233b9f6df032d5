// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>

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

// A metric M of a validation is an object with
//   1. std::string name() const: "accuracy"; in the record of a run it is "val_accuracy";
//   2. metric_sum add(outputs, targets, loss) const: the part of one batch; outputs are (rows, output_shape), the loss is its
//      mean over the batch;
//   3. double value(const metric_sum&) const: the metric, from the sum over all batches and ranks.
template <class M>
concept metric = requires(const M& m, const metric_sum& all) {
  { m.name() } -> std::convertible_to<std::string>;
  { m.value(all) } -> std::convertible_to<double>;
};

// The share, 0 ... 1, of targets that are the argmax of their outputs, as torchmetrics' multiclass Accuracy with micro average.
struct Accuracy {
  std::string name() const { return "accuracy"; }
  template <class Outputs, class Targets>
  metric_sum add(const Outputs& outputs, const Targets& targets, double) const {
    return {static_cast<double>(detail::count_right(outputs, targets)), static_cast<double>(targets.size())};
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
