// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/train/state/training_state.hpp>

namespace cairn {

// A number that is watched while a network trains: its name, as "val_loss", and its value.
using metric_value = std::pair<std::string, double>;

// Which of two values of a metric is the better one: of a loss the smaller, of an accuracy the larger.
enum class best_is { smallest, largest };

namespace detail {

template <class Metrics>
std::string metric_names(const Metrics& there) {
  std::string names;
  for (const auto& [name, value] : there) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

// The best value so far of a metric.
class monitored {
public:
  struct choice {
    std::string name; // empty: nothing is monitored
    best_is mode = best_is::smallest;
    double min_delta = 0; // an improvement is more than this
  };
  explicit monitored(choice chosen) : chosen_(std::move(chosen)) {}

  // Is its value among these, and better than every one before? It is then the best. A NaN never is. Where there is no such
  // metric the names of those that there are come with the error, but for epochs without validation.
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
  // What is wrong where a run has no such metric and none will come: after a validation, or where nothing validates. Not every
  // epoch is validated. Else empty.
  template <class Run>
  std::string missing_in(const Run& run, const char* owner) const {
    if (chosen_.name.empty() || find(run.metrics()) != nullptr || (run.validates() && !run.validated())) return {};
    return missing(owner, metric_names(run.metrics())) + "; is there a validation{...} among the callbacks?";
  }
  // Throws input_error before the first step where only a validation makes such a metric, and none will. Of a callback of the
  // program's own it is not known what it makes.
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

} // namespace detail

} // namespace cairn
