// SPDX-License-Identifier: MIT
#include <cairn/train/early_stopping.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

namespace early_stopping_tests {

using namespace cairn;

namespace {

struct said_run {
  std::vector<metric_value> values;
  bool is_validated = true;
  std::string reason;
  const std::vector<metric_value>& metrics() const { return values; }
  bool validated() const { return is_validated; }
  void stop(std::string why) { reason = std::move(why); }
};

} // namespace

TEST_CASE("early_stopping: stops when a metric no longer improves") {
  const auto why = [&](std::vector<double> values, const early_stopping_options& chosen) {
    early_stopping stopping{chosen};
    for (std::size_t epoch = 0; epoch < values.size(); ++epoch) {
      said_run run{{{"train_loss", 1.0}, {"val_loss", values[epoch]}}, true, {}};
      stopping.on_epoch(run);
      if (!run.reason.empty()) return std::to_string(epoch + 1) + " " + run.reason;
    }
    return std::to_string(values.size()) + " max_epochs";
  };
  CHECK(why({5, 4, 3, 2, 1}, {}) == "5 max_epochs");
  CHECK(why({5, 4, 4, 5, 6, 3}, {}) == "5 early stopping: val_loss = 6 and no improvement of 4 in 3 epochs");
  CHECK(why({5, 4, 4, 5, 3, 3, 3, 3, 0}, {}) == "8 early stopping: val_loss = 3 and no improvement of 3 in 3 epochs");
  CHECK(why({5, 6, 4}, {.patience = 1}) == "2 early stopping: val_loss = 6 and no improvement of 5 in 1 epochs");
  CHECK(why({1, 2, 3, 2.5, 2}, {.mode = best_is::largest, .patience = 2}) ==
        "5 early stopping: val_loss = 2 and no improvement of 3 in 2 epochs");
  CHECK(why({5, 4.9, 4.8, 4.7}, {.min_delta = 0.15, .patience = 2}) == "4 max_epochs"); // 4.8 is 0.2 better than 5
  CHECK(why({5, NAN, 4}, {}) == "2 early stopping: val_loss = nan");
  CHECK(why({NAN, NAN, 4, 5}, {.patience = 2, .check_finite = false}) ==
        "2 early stopping: val_loss = nan and no improvement of nan in 2 epochs");
  CHECK(why({5, 4, 3}, {.stopping_threshold = 4}) == "2 early stopping: val_loss = 4 has reached 4");
  CHECK(why({5, 9, 3}, {.divergence_threshold = 8}) == "2 early stopping: val_loss = 9 is worse than 8");
  CHECK_THROWS_WITH_AS(why({1}, {.monitor = "val_accuracy"}),
                       doctest::Contains("expected a metric 'val_accuracy', found train_loss, val_loss; is there a validation"),
                       input_error);
  CHECK_THROWS_WITH_AS(early_stopping({.min_delta = -1}), doctest::Contains("min_delta of 0 or more, found -1"), input_error);
}

TEST_CASE("early_stopping: an epoch without validation is none, and a run that had stopped stays stopped") {
  early_stopping stopping{{.patience = 1}};
  said_run run{{{"train_loss", 1.0}}, false, {}};
  stopping.on_begin(run);
  for (int epoch = 0; epoch < 5; ++epoch) stopping.on_epoch(run);
  CHECK(run.reason.empty());
  run.is_validated = true;
  run.values = {{"val_loss", 1.0}};
  stopping.on_epoch(run);
  stopping.on_epoch(run);
  CHECK(run.reason == "early stopping: val_loss = 1 and no improvement of 1 in 1 epochs");

  state_notes notes;
  stopping.write_notes(notes);
  early_stopping taken_up{{.patience = 1}}, more_patient{{.patience = 2}};
  said_run next;
  taken_up.read_notes(notes);
  taken_up.on_begin(next);
  CHECK(next.reason == "early stopping: no improvement of val_loss in 1 epochs");
  next = {};
  more_patient.read_notes(notes);
  more_patient.on_begin(next);
  CHECK(next.reason.empty());
  next.values = {{"val_loss", 1.5}};
  more_patient.on_epoch(next);
  CHECK(next.reason == "early stopping: val_loss = 1.5 and no improvement of 1 in 2 epochs");
}

} // namespace early_stopping_tests
