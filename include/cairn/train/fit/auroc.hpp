// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/train/fit/decisions.hpp>
#include <cairn/train/fit/metrics.hpp>

namespace cairn::metrics {

// The area under the receiver operating characteristic: how likely the logit of a positive sample is above that of a negative
// one, where equal logits count half (Hanley, McNeil: The meaning and use of the area under a ROC curve. 1982). As
// torchmetrics' BinaryAUROC: one logit for each yes or no, targets 0 and 1; 0 without positive or without negative samples. It
// is exact, and sorts.
template <detail::numbers Outputs, detail::numbers Targets>
double auroc(const Outputs& outputs, const Targets& targets) {
  std::vector<std::pair<double, bool>> all;
  all.reserve(static_cast<std::size_t>(targets.size()));
  detail::for_each_logit("auroc", outputs, targets, [&](double logit, bool positive) {
    if (std::isnan(logit)) throw input_error("auroc: expected outputs that can be compared, found NaN");
    all.emplace_back(logit, positive);
  });
  std::sort(all.begin(), all.end());
  double below = 0, positives = 0, sum = 0; // negative samples so far; all positive ones; pairs in the right order
  for (std::size_t i = 0; i < all.size();) {
    double equal[2]{};
    for (const double logit = all[i].first; i < all.size() && all[i].first == logit; ++i) ++equal[all[i].second ? 1 : 0];
    sum += equal[1] * (below + equal[0] / 2);
    below += equal[0];
    positives += equal[1];
  }
  return below == 0 || positives == 0 ? 0 : sum / (below * positives);
}

// The same as the metric of a validation, which adds up counts over batches and ranks: logits count as equal if they are in one
// of 4000 intervals of 0.01 from -20 to 20, and beyond. As torchmetrics' BinaryAUROC with many thresholds.
struct AUROC {
  static constexpr std::size_t intervals = 4000;
  static constexpr double least = -20, width = 0.01;
  using sum = std::array<double, 2 * intervals>; // negative samples in each, then positive ones

  std::string name() const { return "auroc"; }
  template <class Outputs, class Targets>
  sum add(const Outputs& outputs, const Targets& targets, double) const {
    sum all{};
    detail::for_each_logit("AUROC", outputs, targets, [&](double logit, bool positive) {
      if (std::isnan(logit)) throw input_error("AUROC: expected outputs that can be compared, found NaN");
      const double at = std::clamp(std::floor((logit - least) / width), 0.0, static_cast<double>(intervals - 1));
      ++all[(positive ? intervals : 0) + static_cast<std::size_t>(at)];
    });
    return all;
  }
  double value(const sum& all) const {
    double below = 0, positives = 0, pairs = 0;
    for (std::size_t i = 0; i < intervals; ++i) {
      pairs += all[intervals + i] * (below + all[i] / 2);
      below += all[i];
      positives += all[intervals + i];
    }
    return below == 0 || positives == 0 ? 0 : pairs / (below * positives);
  }
};

} // namespace cairn::metrics
