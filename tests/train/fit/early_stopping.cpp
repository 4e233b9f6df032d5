// SPDX-License-Identifier: MIT
#include <cairn/train/fit/early_stopping.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/train/fit/fit_run.hpp>
#include <doctest/doctest.h>

namespace early_stopping_tests {

using namespace cairn;

namespace {

struct said_run {
  std::vector<types::metric_value> values;
  bool is_validated = true;
  bool has_validation = true;
  std::string reason{};
  types::fit_options chosen{};
  std::vector<std::string> known{};
  std::string fault{};
  const types::fit_options& options() const { return chosen; }
  const std::vector<std::string>& validation_metrics() const { return known; }
  void fail_when_saved(std::string text) { fault = std::move(text); }
  const std::vector<types::metric_value>& metrics() const { return values; }
  bool validated() const { return is_validated; }
  bool validates() const { return has_validation; }
  void stop(std::string why) { reason = std::move(why); }
};

} // namespace

TEST_CASE("early_stopping: stops when a metric no longer improves") {
  const auto why = [&](std::vector<double> values, const types::early_stopping_options& chosen) {
    early_stopping stopping{chosen};
    for (std::size_t epoch = 0; epoch < values.size(); ++epoch) {
      said_run run{.values = {{"train_loss", 1.0}, {"val_loss", values[epoch]}}};
      stopping.on_epoch(run);
      if (!run.reason.empty()) return std::to_string(epoch + 1) + " " + run.reason;
    }
    return std::to_string(values.size()) + " max_epochs";
  };
  CHECK(why({5, 4, 3, 2, 1}, {}) == "5 max_epochs");
  CHECK(why({5, 4, 4, 5, 6, 3}, {}) == "5 early stopping: val_loss = 6 and no improvement of 4 in 3 epochs");
  CHECK(why({5, 4, 4, 5, 3, 3, 3, 3, 0}, {}) == "8 early stopping: val_loss = 3 and no improvement of 3 in 3 epochs");
  CHECK(why({5, 6, 4}, {.patience = 1}) == "2 early stopping: val_loss = 6 and no improvement of 5 in 1 epoch");
  CHECK(why({1, 2, 3, 2.5, 2}, {.mode = metrics::best_is::largest, .patience = 2}) ==
        "5 early stopping: val_loss = 2 and no improvement of 3 in 2 epochs");
  CHECK(why({5, 4.9, 4.8, 4.7}, {.min_delta = 0.15, .patience = 2}) == "4 max_epochs"); // 4.8 is 0.2 better than 5
  CHECK(why({5, NAN, 4}, {}) == "2 early stopping: val_loss = nan");
  CHECK(why({NAN, NAN, 4, 5}, {.patience = 2, .check_finite = false}) ==
        "2 early stopping: val_loss = nan and no improvement of nan in 2 epochs");
  CHECK(why({5, 4, 3}, {.stopping_threshold = 4}) == "2 early stopping: val_loss = 4 has reached 4");
  CHECK(why({5, 9, 3}, {.divergence_threshold = 8}) == "2 early stopping: val_loss = 9 is worse than 8");
  CHECK_THROWS_WITH_AS(early_stopping({.min_delta = -1}), doctest::Contains("min_delta of 0 or more, found -1"), input_error);
}

TEST_CASE("early_stopping: a monitor that never comes is found before the first step, or when the epoch is saved") {
  said_run run{.values = {{"train_loss", 1.0}, {"val_loss", 2.0}}};
  early_stopping misspelt{{.monitor = "val_accuracy"}};
  misspelt.on_begin(run); // a user's own callback may add it
  misspelt.on_epoch(run);
  CHECK(run.fault == "early_stopping: expected a metric 'val_accuracy', found train_loss, val_loss; is there a validation{...} "
                     "among the callbacks?");
  run.known = {"val_loss", "val_acc"};
  CHECK_THROWS_WITH_AS(misspelt.on_begin(run),
                       "early_stopping: expected a metric 'val_accuracy', found val_loss, val_acc of the validation",
                       input_error);
  early_stopping{{.monitor = "val_acc"}}.on_begin(run);

  said_run never{.values = {{"train_loss", 1.0}}, .is_validated = false, .has_validation = false};
  CHECK_THROWS_WITH_AS(early_stopping{}.on_begin(never), doctest::Contains("expected a validation{...} among the callbacks"),
                       input_error);
  early_stopping of_training{{.monitor = "train_los"}};
  of_training.on_begin(never);
  of_training.on_epoch(never);
  CHECK(never.fault == "early_stopping: expected a metric 'train_los', found train_loss; is there a validation{...} among the "
                       "callbacks?");
}

TEST_CASE("early_stopping: says what it has counted") {
  const auto why = [](const types::fit_options& chosen, const char* monitor, std::size_t patience) {
    early_stopping stopping{{.monitor = monitor, .patience = patience}};
    said_run run{.values = {{monitor, 1.0}}, .chosen = chosen};
    for (std::size_t i = 0; i <= patience; ++i) stopping.on_epoch(run);
    return run.reason.substr(run.reason.rfind(" in ") + 4);
  };
  CHECK(why({}, "val_loss", 2) == "2 epochs");
  CHECK(why({.val_check_interval = 50}, "val_loss", 1) == "1 validation");
  CHECK(why({.check_val_every_n_epoch = 3}, "val_loss", 2) == "2 validations");
  CHECK(why({.check_val_every_n_epoch = 3}, "train_loss", 1) == "1 epoch");
  CHECK(why({.val_check_interval = 50}, "train_loss", 2) == "2 intervals");
}

TEST_CASE("early_stopping: an epoch without validation is none, and a run that had stopped stays stopped") {
  early_stopping stopping{{.patience = 1}};
  said_run run{.values = {{"train_loss", 1.0}}, .is_validated = false};
  stopping.on_begin(run);
  for (int epoch = 0; epoch < 5; ++epoch) stopping.on_epoch(run);
  CHECK(run.reason.empty());
  run.is_validated = true;
  run.values = {{"val_loss", 1.0}};
  stopping.on_epoch(run);
  stopping.on_epoch(run);
  CHECK(run.reason == "early stopping: val_loss = 1 and no improvement of 1 in 1 epoch");

  types::state_notes notes;
  stopping.write_notes(notes);
  early_stopping taken_up{{.patience = 1}}, more_patient{{.patience = 2}};
  said_run next;
  taken_up.read_notes(notes);
  taken_up.on_begin(next);
  CHECK(next.reason == "early stopping: no improvement of val_loss in 1 epoch");
  next = {};
  more_patient.read_notes(notes);
  more_patient.on_begin(next);
  CHECK(next.reason.empty());
  next.values = {{"val_loss", 1.5}};
  more_patient.on_epoch(next);
  CHECK(next.reason == "early stopping: val_loss = 1.5 and no improvement of 1 in 2 epochs");
}

} // namespace early_stopping_tests
