// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/train/fit/monitored.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::types {

// When early_stopping stops: the names and defaults of Lightning's EarlyStopping.
struct early_stopping_options {
  std::string monitor = "val_loss";
  metrics::best_is mode = metrics::best_is::smallest;
  double min_delta = 0;     // an improvement has to be larger than this
  std::size_t patience = 3; // epochs, or validations, that have the metric but no improvement
  bool check_finite = true; // stops at once when the metric is NaN or infinite
  double stopping_threshold = std::numeric_limits<double>::quiet_NaN();   // stops when the metric reaches this [none]
  double divergence_threshold = std::numeric_limits<double>::quiet_NaN(); // stops when the metric is worse than this [none]
};

} // namespace cairn::types

namespace cairn {

// A callback of fit() that stops it when a metric has not improved for `patience` epochs. If the metric comes at other times,
// such as after every val_check_interval steps, these are counted instead. All ranks see the same metrics, so all stop.
class early_stopping {
public:
  explicit early_stopping(types::early_stopping_options chosen = {})
      : chosen_(std::move(chosen)), best_({chosen_.monitor, chosen_.mode, chosen_.min_delta}) {
    detail::check_number("early_stopping: expected a min_delta of 0 or more", chosen_.min_delta);
  }

  // A resumed run that had already stopped does not start again, unless it is given more patience.
  template <class Run>
  void on_begin(Run& run) {
    best_.expect_validation(run, owner);
    if (waited_ > 0 && waited_ >= chosen_.patience)
      run.stop("early stopping: no improvement of " + chosen_.monitor + " in " + times(run));
  }
  template <class Run>
  void on_epoch(Run& run) {
    const double* const found = best_.find(run.metrics());
    if (found == nullptr) {
      run.fail_when_saved(best_.missing_in(run, owner)); // a metric that never comes would never stop the run
      return;
    }
    const std::string value = chosen_.monitor + " = " + detail::shortest_text(*found);
    if (chosen_.check_finite && !std::isfinite(*found)) return run.stop("early stopping: " + value);
    if (reaches(*found, chosen_.stopping_threshold))
      return run.stop("early stopping: " + value + " has reached " + detail::shortest_text(chosen_.stopping_threshold));
    if (!std::isnan(chosen_.divergence_threshold) && !reaches(*found, chosen_.divergence_threshold))
      return run.stop("early stopping: " + value + " is worse than " + detail::shortest_text(chosen_.divergence_threshold));
    waited_ = best_.improves(run.metrics()) ? 0 : waited_ + 1;
    if (waited_ > 0 && waited_ >= chosen_.patience)
      run.stop("early stopping: " + value + " and no improvement of " + detail::shortest_text(best_.best()) + " in " +
               times(run));
  }
  void write_notes(types::state_notes& notes) const {
    best_.write(owner, notes);
    notes[std::string(owner) + ".waited for " + chosen_.monitor] = static_cast<double>(waited_);
  }
  void read_notes(const types::state_notes& notes) {
    best_.read(owner, notes);
    if (const auto found = notes.find(std::string(owner) + ".waited for " + chosen_.monitor); found != notes.end())
      waited_ = static_cast<std::size_t>(found->second);
  }

private:
  static constexpr const char* owner = "early_stopping";

  // "3 epochs", "1 validation": how often the metric has come since it was best.
  template <class Run>
  std::string times(const Run& run) const {
    const auto& o = run.options();
    const bool is_each_epoch = o.val_check_interval == 0 && (o.check_val_every_n_epoch == 1 || !best_.is_of_validation());
    return std::to_string(waited_) +
           (is_each_epoch              ? " epoch"
            : best_.is_of_validation() ? " validation"
                                       : " interval") +
           (waited_ == 1 ? "" : "s");
  }
  // Whether a value is as good as a threshold; false if there is none (NaN).
  bool reaches(double value, double threshold) const {
    return chosen_.mode == metrics::best_is::smallest ? value <= threshold : value >= threshold;
  }
  types::early_stopping_options chosen_;
  detail::monitored best_;
  std::size_t waited_ = 0;
};

} // namespace cairn
