// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include <cairn/core/rooms.hpp>
#include <cairn/train/fit/metrics.hpp>
#include <cairn/train/target_arrays.hpp>

namespace cairn::metrics {

// A metric of one of several heads: see of_head().
template <std::size_t Head, metric Metric>
struct head_metric {
  using sum = detail::metric_sum_of<Metric>;

  Metric own{};
  std::string head = "head_" + std::to_string(Head);

  std::string name() const { return head + "_" + own.name(); }
  template <class Outputs, class Targets, class Losses>
  sum add(const Outputs& outputs, const Targets& targets, const Losses& losses) const {
    return own.add(outputs[Head], std::get<Head>(detail::target_tuple(targets)), losses.heads[Head]);
  }
  double value(const sum& all) const { return own.value(all); }
};

// The metric of head `Head` of a trainer with multi::losses, from its outputs, its targets and its loss without its weight:
//
//   validation{held_out, metrics::of_head<0>(metrics::Accuracy{}), metrics::of_head<1>(metrics::MeanAbsoluteError{}, "box")};
//
// adds val_loss, the weighted sum, val_head_0_accuracy and val_box_mean_absolute_error.
template <std::size_t Head, metric Metric>
head_metric<Head, Metric> of_head(Metric own, std::string name = "head_" + std::to_string(Head)) {
  return {std::move(own), std::move(name)};
}

// The mean loss over all samples, for of_head(): val_loss is that of all heads.
struct MeanLoss {
  std::string name() const { return "loss"; }
  template <class Outputs, class Targets>
  metric_sum add(const Outputs& outputs, const Targets&, double loss) const {
    const auto rows = static_cast<double>(outputs.rows());
    return {loss * rows, rows};
  }
  double value(const metric_sum& all) const { return all.sum / all.count; }
};

} // namespace cairn::metrics
