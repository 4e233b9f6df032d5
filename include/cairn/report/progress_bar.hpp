// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <cairn/report/progress.hpp>

namespace cairn {

// A callback of fit: a bar for each epoch, and below it the metrics of the whole epoch, those of the validation too.
//
//   epoch 3/20:  45%|#####9      | 27,000/60,000 [00:02<00:03, 12.1k samples/s, loss=0.123, lr=0.1]
//   epoch 3/20: train_loss=0.1104, val_loss=0.0981, val_accuracy=0.9712
//
// A run that ends at a step, before its last epoch does, is counted in steps up to that one. Rank 0 shows the samples of all
// ranks, the other ranks show nothing. Each bar sets the label and the count done before, and the unit if it counts steps.
// `Clock` is as in progress.
template <class Clock = std::chrono::steady_clock>
class progress_bar {
public:
  explicit progress_bar(report::progress_settings settings = {}) : settings_(std::move(settings)) {}

  template <class Run>
  void on_begin(const Run&) {
    begun_ = Clock::now();
  }

  // A bar begins with the first step of its epoch, so that an epoch that does not come has none. If a run was resumed within
  // an epoch, the steps before count as done.
  template <class Run>
  void on_step(const Run& run) {
    if (run.rank() != 0 || settings_.out == nullptr) return;
    if (!bar_) {
      report::progress_settings settings = settings_;
      settings.label = label(run);
      if (run.last_step() > 0) {
        settings.unit = "steps";
        settings.done = std::min(static_cast<std::size_t>(run.step()) - 1, total(run));
      } else {
        const std::size_t before = std::max<std::size_t>(run.step_of_epoch(), 1) - 1;
        settings.done = std::min(before * run.rows(), total(run));
      }
      bar_.emplace(total(run), std::move(settings), begun_);
    }
    const std::size_t count = run.last_step() > 0 ? 1 : run.rows();
    const double skipped = skipped_updates(run);
    if (skipped == 0) bar_->advance(count, {{"loss", run.known_loss()}, {"lr", run.last_rate()}});
    else bar_->advance(count, {{"loss", run.known_loss()}, {"lr", run.last_rate()}, {"skipped_updates", skipped}});
    if (bar_->done() >= total(run)) bar_->finish(); // its time does not include the validation
  }

  template <class Run>
  void on_epoch(const Run& run) {
    bar_.reset();
    begun_ = Clock::now();
    if (run.rank() != 0 || settings_.out == nullptr || run.metrics().empty()) return;
    std::string line = label(run);
    const char* between = ": ";
    for (const auto& [name, value] : run.metrics()) line += std::exchange(between, ", ") + detail::named_number(name, value);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), settings_.out);
    std::fflush(settings_.out);
  }

  // If the run ends in the middle of an epoch, the bar stays as it is.
  template <class Run>
  void on_end(const Run&) {
    bar_.reset();
  }

private:
  // With loss scaling: how many updates were skipped so far.
  template <class Run>
  static double skipped_updates([[maybe_unused]] const Run& run) {
    if constexpr (requires { run.train().skipped_updates(); }) return static_cast<double>(run.train().skipped_updates());
    else return 0;
  }
  template <class Run>
  static std::string label(const Run& run) {
    const std::string epoch = "epoch " + std::to_string(run.epoch() + 1);
    return run.last_step() > 0 ? epoch : epoch + "/" + std::to_string(run.epochs());
  }
  // The total of a bar: samples of an epoch, or steps of a run that ends at a step.
  template <class Run>
  static std::size_t total(const Run& run) {
    return run.last_step() > 0 ? static_cast<std::size_t>(run.last_step()) : run.samples_of_epoch();
  }

  report::progress_settings settings_;
  typename Clock::time_point begun_ = Clock::now();
  std::optional<progress<Clock>> bar_;
};

} // namespace cairn
