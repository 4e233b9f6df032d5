// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/train/fit/fit_arguments.hpp>
#include <cairn/train/fit/fit_run.hpp>
#include <cairn/train/fit/stop_signals.hpp>
#include <cairn/train/input_arrays.hpp>
#include <cairn/train/ranks/all_ranks.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/state/loader_facts.hpp>
#include <cairn/train/step/step_hooks.hpp>

namespace cairn::types {

// The result of a run.
struct fit_result {
  std::string why;                                // "max_epochs", "max_steps", "early stopping: ...", "SIGTERM"
  bool interrupted = false;                       // by a signal or request_stop(): there is more to do
  std::uint64_t steps = 0;                        // of the trainer
  std::size_t epochs = 0;                         // complete ones, including those before a resume
  std::vector<std::vector<metric_value>> history; // all metrics of each epoch that this call completed, and of parts
  std::vector<metric_value> rest{};               // train_loss and learning_rate of the steps after the last of these

  // The value of a metric in the part of an epoch in which the run ended, or else in the last epoch that has it. NaN if this call
  // completed no epoch. Throws input_error if no epoch has the name, and lists the names that there are.
  double metric(std::string_view name) const {
    for (const auto& [known, value] : rest)
      if (known == name) return value;
    for (std::size_t epoch = history.size(); epoch-- > 0;)
      for (const auto& [known, value] : history[epoch])
        if (known == name) return value;
    if (history.empty()) return std::numeric_limits<double>::quiet_NaN();
    throw input_error("fit_result: expected a metric '" + std::string(name) + "', found " + detail::metric_names(history.back()));
  }
};

} // namespace cairn::types

namespace cairn::detail {

// The loop of fit().
template <class Trainer, class Loader, class... Callbacks>
class fit_loop {
public:
  fit_loop(Trainer& train, Loader& batches, const fit_options& chosen, Callbacks&... callbacks)
      : callbacks_(callbacks...), run_(train, batches, chosen) {
    const std::size_t micro_batches = chosen.accumulate_grad_batches;
    if (micro_batches == 0 || (Trainer::fused && micro_batches > 1))
      throw input_error("fit: expected accumulate_grad_batches of 1" +
                        std::string(Trainer::fused ? ", as a fused update cannot accumulate" : " or more") + ", found " +
                        std::to_string(micro_batches));
    if (chosen.check_val_every_n_epoch == 0 || chosen.log_every_n_steps == 0)
      throw input_error("fit: expected check_val_every_n_epoch and log_every_n_steps of 1 or more, found 0");
    run_.validates_ = (validates<Callbacks, run_type> || ...);
    list_validation_metrics();
    run_.write_notes_ = {[](void* self, state_notes& out) { static_cast<fit_loop*>(self)->write_notes(out); }, this};
    run_.read_notes_ = {[](void* self, const state_notes& in) { static_cast<fit_loop*>(self)->read_notes(in); }, this};
  }
  fit_loop(const fit_loop&) = delete;
  fit_loop& operator=(const fit_loop&) = delete;

  fit_result operator()() {
    if (run_.options_.handle_signals) signals_.emplace();
    const told_micro_batches told(run_.train_, run_.options_.accumulate_grad_batches);
    if (run_.options_.fast_dev_run) return tried();
    each([this](auto& c) {
      if constexpr (requires { c.on_resume(run_); }) c.on_resume(run_);
    });
    run_.enter(run_.batches_.place());
    each([this](auto& c) {
      if constexpr (requires { c.on_begin(run_); }) c.on_begin(run_);
    });
    if (run_.train_.steps() >= run_.options_.max_steps) run_.stop("max_steps");
    while (run_.why_.empty()) {
      if (run_.batches_.place().epoch >= run_.options_.max_epochs) run_.stop("max_epochs");
      else one_epoch();
    }
    compare_parameters(run_.train_, "fit, at its end");
    each([this](auto& c) {
      if constexpr (requires { c.on_end(run_); }) c.on_end(run_);
    });
    if (run_.step_of_epoch_ > 0 && !run_.epoch_is_over() && run_.begin_record(false) > 0) rest_ = run_.metrics_;
    return finished();
  }

private:
  using run_type = fit_run<Trainer, Loader>;

  // While fit() makes the steps, sets their number of micro-batches, which a state records and a resume compares.
  struct told_micro_batches {
    Trainer& train;
    told_micro_batches(Trainer& its, std::size_t count) : train(its) { train.inside().told_micro_batches = count; }
    ~told_micro_batches() { train.inside().told_micro_batches = 0; }
    told_micro_batches(const told_micro_batches&) = delete;
    told_micro_batches& operator=(const told_micro_batches&) = delete;
  };

  template <class F>
  void each(F&& f) {
    std::apply([&](auto&... c) { (f(c), ...); }, callbacks_);
  }
  void list_validation_metrics() {
    bool all_say_it = true;
    each([&]<class C>(C& c) {
      if constexpr (requires { c.metric_names(); }) {
        const std::vector<std::string> its_own = c.metric_names();
        run_.validation_metrics_.insert(run_.validation_metrics_.end(), its_own.begin(), its_own.end());
      } else if constexpr (validates<C, run_type>) all_say_it = false;
    });
    if (!all_say_it) run_.validation_metrics_.clear();
  }
  void write_notes(state_notes& out) {
    each([&](auto& c) {
      if constexpr (requires { c.write_notes(out); }) c.write_notes(out);
    });
  }
  void read_notes(const state_notes& in) {
    each([&](auto& c) {
      if constexpr (requires { c.read_notes(in); }) c.read_notes(in);
    });
  }

  void one_epoch() {
    const loader_place at = run_.batches_.place();
    run_.enter(at);
    if (at.batch == 0)
      each([this](auto& c) {
        if constexpr (requires { c.on_epoch_begin(run_); }) c.on_epoch_begin(run_);
      });
    const std::size_t size = run_.batches_.size();
    std::size_t index = static_cast<std::size_t>(at.batch);
    losses_.clear(); // of this step
    for (const auto& batch : run_.batches_) {
      if (run_.compares_samples_) run_.compare_samples(run_.number_of(batch));
      const std::size_t together = run_.options_.accumulate_grad_batches;
      const bool is_last = ++index % together == 0 || index == size;
      run_.rate_ = run_.train_.learning_rate();
      losses_.push_back({one_batch(batch, is_last), static_cast<double>(batch.rows())});
      if (!is_last) continue;
      step_is_made();
      if (!run_.why_.empty() && index != size && !run_.is_uneven_) return;
      if (!run_.why_.empty() && run_.is_uneven_) break;
    }
    if (run_.compares_samples_) run_.compare_samples(0); // this rank has no batch
    if (run_.is_uneven_ && !with_the_others()) return;
    epoch_is_over();
  }
  // Takes part in the rest of an epoch in which other ranks have more batches. Its steps count on this rank too: callbacks see
  // them on all ranks. Returns whether the epoch is complete.
  bool with_the_others() {
    while (run_.why_.empty() && run_.step_of_epoch_ < run_.steps_in_epoch_) {
      run_.rate_ = run_.train_.learning_rate();
      take_part(run_.train_.inside());
      step_is_made();
    }
    run_.train_.join(); // as all ranks do now
    look_for_stop();    // a request after the last step came with it
    return run_.step_of_epoch_ >= run_.steps_in_epoch_;
  }
  template <class Batch>
  auto one_batch(const Batch& batch, bool is_last) {
    return with_inputs(batch.inputs, [&](const auto& all) {
      return with_hooks([&](const auto&... hooks) {
        if constexpr (!Trainer::fused)
          if (!is_last) return run_.train_.accumulate(all, batch.targets, hooks...);
        return run_.train_.step(all, batch.targets, hooks...);
      });
    });
  }
  // Calls f(hooks...) with those callbacks that are hooks.
  template <class F>
  auto with_hooks(const F& f) {
    const auto if_hook = []<class C>(C& c) {
      if constexpr (step_hook<C>) return std::tuple<const C&>(c);
      else return std::tuple<>();
    };
    return std::apply([&](auto&... c) { return std::apply(f, std::tuple_cat(if_hook(c)...)); }, callbacks_);
  }

  void step_is_made() {
    ++run_.step_of_epoch_;
    run_.made_a_step_ = true;
    if (!losses_.empty()) run_.rows_ = 0;
    for (const auto& each : losses_) run_.rows_ += static_cast<std::size_t>(each.rows);
    run_.step_is_over(losses_);
    if (signals_ && signals_->arrived() != 0) run_.train_.request_stop();
    each([this](auto& c) {
      if constexpr (requires { c.on_step(run_); }) c.on_step(run_);
    });
    if (run_.step() % run_.options_.log_every_n_steps == 0) {
      run_.metrics_.clear();
      run_.add_metric("train_loss_step", run_.loss());
      run_.add_metric("learning_rate", run_.rate_);
      run_.add_loss_scale();
      each([this](auto& c) {
        if constexpr (requires { c.on_log(run_); }) c.on_log(run_);
      });
    }
    const std::uint64_t interval = run_.options_.val_check_interval;
    if (interval > 0 && run_.step() % interval == 0 && !run_.epoch_is_over()) part_is_over();
    look_for_stop();
    if (run_.train_.steps() >= run_.options_.max_steps) run_.stop("max_steps");
  }
  void look_for_stop() {
    if (!run_.train_.stop_requested()) return;
    run_.interrupted_ = true;
    const int number = signals_ ? signals_->arrived() : 0;
    run_.stop(number != 0 ? stop_signals::name_of(number) : "a rank asked to stop");
  }

  void epoch_is_over() {
    run_.begin_record(true);
    if ((run_.epoch_ + 1) % run_.options_.check_val_every_n_epoch == 0) validate();
    record();
  }
  void part_is_over() {
    run_.begin_record(false);
    validate();
    record();
  }
  void record() {
    each([this](auto& c) {
      if constexpr (requires { c.on_epoch(run_); }) c.on_epoch(run_);
    });
    if (run_.can_be_taken_up())
      each([this](auto& c) {
        if constexpr (requires { c.on_save(run_); }) c.on_save(run_);
      });
    history_.push_back(run_.metrics_);
    if (!run_.fault_.empty()) throw input_error(run_.fault_);
  }
  void validate() {
    const std::size_t before = run_.metrics_.size();
    each([this](auto& c) {
      if constexpr (requires { c.on_validate(run_); }) c.on_validate(run_);
    });
    run_.validated_ = run_.metrics_.size() > before;
  }

  // The run of fast_dev_run: one step and one validation, without logs or saved states.
  fit_result tried() {
    run_.enter(run_.batches_.place());
    bool has_samples = false;
    for (const auto& batch : run_.batches_) {
      has_samples = true;
      if (run_.compares_samples_) run_.compare_samples(run_.number_of(batch));
      run_.loss_ = one_batch(batch, true);
      break;
    }
    if (run_.compares_samples_) run_.compare_samples(0);
    if (!has_samples) take_part(run_.train_.inside());
    run_.add_metric("train_loss", run_.loss_);
    validate();
    run_.stop("fast_dev_run");
    history_.push_back(run_.metrics_);
    return finished();
  }
  fit_result finished() {
    const std::size_t epochs = run_.can_be_taken_up() ? static_cast<std::size_t>(run_.batches_.place().epoch) : run_.epoch_;
    return {run_.why_, run_.interrupted_, run_.train_.steps(), epochs, std::move(history_), std::move(rest_)};
  }

  std::tuple<Callbacks&...> callbacks_;
  run_type run_;
  std::vector<typename run_type::late_loss> losses_;
  std::optional<stop_signals> signals_;
  std::vector<std::vector<metric_value>> history_;
  std::vector<metric_value> rest_;
};

} // namespace cairn::detail

namespace cairn {

// Trains over a loader's epochs until max_epochs or max_steps is reached, or a callback or a signal stops it:
//
//   const fit_result all =
//       fit(train, batches, {.max_epochs = 20}, validation{digits.test, sampler{rank}, batch<64>{}, metrics::Accuracy{}},
//           early_stopping{{.patience = 3}}, saved_states{"runs/a"}, csv_log{"runs/a/metrics.csv"});
//
// A loop of your own over train.step() can do the same. With ddp every rank calls it, with a loader, callbacks and options alike;
// the callbacks of rank 0 write and print. A rank whose loader has fewer batches joins the steps of the others, as by
// trainer::join(), and its callbacks see them too.
//
// A callback is an object of any type with some of these members. Callbacks are called in the order of the arguments. `run` is a
// fit_run<...>&, so the members are templates or take auto&:
//   on_resume(run)       before anything else; may load a state
//   on_begin(run)        when the start of the run is known
//   on_epoch_begin(run)  before every epoch, except one that is resumed in its middle
//   on_step(run)         after every step
//   on_log(run)          after every log_every_n_steps steps; run.metrics() are those of the step
//   on_validate(run)     after every check_val_every_n_epoch epochs, and val_check_interval steps; adds metrics
//   metric_names()       all names that on_validate adds, so that a monitor of another name is an error before the first step
//   on_epoch(run)        after every epoch; run.metrics() are all of the epoch. Also inside an epoch, after every
//                        val_check_interval steps: run.epoch_is_over() is false then, and metrics are those since the last time
//   on_save(run)         after every on_epoch, so that a state contains their decisions
//   on_end(run)          after the last step, unless an exception was thrown
//   write_notes(notes), read_notes(notes)  its own numbers, which a state keeps
// A callback may also be a hook, such as after_op<step_op_kind::backward>(f), which every step and micro-batch then calls
// (step/step_hooks.hpp).
template <class Trainer, detail::resumable_loader Loader, class... Callbacks>
types::fit_result fit(Trainer& train, Loader& batches, const types::fit_options& options, Callbacks&&... callbacks) {
  constexpr bool is_right = (detail::fits_in<Loader, Trainer>() && ... &&
                             detail::right_callback<std::remove_reference_t<Callbacks>, Trainer, Loader>());
  if constexpr (is_right)
    return detail::fit_loop<Trainer, Loader, std::remove_reference_t<Callbacks>...>(train, batches, options, callbacks...)();
  else return {}; // there has been an error
}
// Arguments in another order.
template <class First, class Second, class... Callbacks>
  requires(!detail::resumable_loader<Second>)
types::fit_result fit(First&, Second&, const types::fit_options&, Callbacks&&...) {
  detail::refuse<detail::refused_fit<First, Second>>();
  return {};
}

} // namespace cairn
