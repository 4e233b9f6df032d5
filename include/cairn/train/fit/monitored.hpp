// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/train/state/training_state.hpp>

namespace cairn::types {

// The name of a metric, such as "val_loss", and its value.
using metric_value = std::pair<std::string, double>;

} // namespace cairn::types

namespace cairn::metrics {

// The better of two values of a metric: the smaller one for a loss, the larger one for an accuracy.
enum class best_is { smallest, largest };

} // namespace cairn::metrics

namespace cairn::detail {

template <class Metrics>
std::string metric_names(const Metrics& there) {
  std::string names;
  for (const auto& [name, value] : there) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

// The best value of a metric so far.
class monitored {
public:
  struct choice {
    std::string name; // empty: nothing is monitored
    best_is mode = best_is::smallest;
    double min_delta = 0; // an improvement is more than this
  };
  explicit monitored(choice chosen) : chosen_(std::move(chosen)) {}

  // Whether `now` has a better value of the metric than every one before, which then becomes the best. A NaN is never better.
  bool improves(std::span<const metric_value> now) {
    const double* const value = find(now);
    if (value == nullptr || !(gain(*value) > chosen_.min_delta)) return false;
    best_ = *value;
    return true;
  }
  const double* find(std::span<const metric_value> now) const {
    for (const auto& [name, value] : now)
      if (!chosen_.name.empty() && name == chosen_.name) return &value;
    return nullptr;
  }
  // The error text for a run that has no such metric and will not get one: after a validation, or if no callback validates. It
  // lists the metrics that there are. Empty otherwise, as not every epoch is validated.
  template <class Run>
  std::string missing_in(const Run& run, const char* owner) const {
    if (chosen_.name.empty() || find(run.metrics()) != nullptr || (run.validates() && !run.validated())) return {};
    return missing(owner, metric_names(run.metrics())) + "; is there a validation{...} among the callbacks?";
  }
  // Throws input_error before the first step if only a validation could make this metric and none will. The metrics of a callback
  // without metric_names() are not known, and nothing is thrown then.
  template <class Run>
  void expect_validation(const Run& run, const char* owner) const {
    if (!is_of_validation()) return;
    if (!run.validates())
      throw input_error(std::string(owner) + ": expected a validation{...} among the callbacks, which makes '" + chosen_.name +
                        "', found none");
    std::string known;
    for (const std::string& name : run.validation_metrics()) {
      if (name == chosen_.name) return;
      known += (known.empty() ? "" : ", ") + name;
    }
    if (!known.empty()) throw input_error(missing(owner, known) + " of the validation");
  }
  bool is_of_validation() const { return chosen_.name.starts_with("val_"); }
  double best() const { return best_; }
  const std::string& name() const { return chosen_.name; }

  void write(const std::string& owner, state_notes& notes) const { notes[key(owner)] = best_; }
  void read(const std::string& owner, const state_notes& notes) {
    if (const auto found = notes.find(key(owner)); found != notes.end()) best_ = found->second;
  }

private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  std::string missing(const char* owner, const std::string& found) const {
    return std::string(owner) + ": expected a metric '" + chosen_.name + "', found " + found;
  }
  std::string key(const std::string& owner) const { return owner + ".best of " + chosen_.name; }
  double gain(double value) const {
    if (std::isnan(best_)) return std::isnan(value) ? 0 : infinity; // nothing to compare with yet
    return chosen_.mode == best_is::smallest ? best_ - value : value - best_;
  }

  choice chosen_;
  double best_ = std::numeric_limits<double>::quiet_NaN(); // none so far
};

} // namespace cairn::detail
