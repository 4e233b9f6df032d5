// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/net/frame.hpp>
#include <cairn/train/fit/monitored.hpp>
#include <cairn/train/ranks/all_ranks.hpp>
#include <cairn/train/ranks/rank_groups.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/state/training_state.hpp>

namespace cairn::detail {

template <class Trainer, class Loader, class... Callbacks>
class fit_loop;

} // namespace cairn::detail

namespace cairn::types {

// Options of fit(), with the names and defaults of Lightning's Trainer. Clipping, the learning rate schedule and the seed are
// options of the trainer.
struct fit_options {
  std::size_t max_epochs = 1000;
  std::uint64_t max_steps = std::numeric_limits<std::uint64_t>::max(); // of the trainer, including those before a resume
  std::size_t accumulate_grad_batches = 1; // micro-batches in a step; the last step of an epoch may have fewer
  std::size_t check_val_every_n_epoch = 1;
  std::uint64_t val_check_interval = 0; // also validate inside an epoch, after every n-th step of the trainer; 0: never
  std::size_t log_every_n_steps = 50;
  bool fast_dev_run = false;  // one step and one validation, to see whether the program works
  bool handle_signals = true; // SIGTERM and SIGINT end the run after a step, cleanly
  bool same_samples = false;  // ranks read the same samples on purpose, which is an error otherwise
};

// A run of fit() as its callbacks see it.
template <class Trainer, class Loader>
class fit_run {
public:
  using trainer_type = Trainer;
  using loader_type = Loader;

  Trainer& train() const { return train_; }
  Loader& batches() const { return batches_; }
  const fit_options& options() const { return options_; }

  int rank() const { return rank_; } // of this replica; 0 writes and shows
  int ranks() const { return ranks_; }
  std::size_t epoch() const { return epoch_; } // from 0
  std::size_t epochs() const { return options_.max_epochs; }
  // The step after which the run ends, if that is before the end of its last epoch; else 0.
  std::uint64_t last_step() const {
    const double steps_of_all = static_cast<double>(options_.max_epochs) * static_cast<double>(steps_in_epoch_);
    return static_cast<double>(options_.max_steps) < steps_of_all ? options_.max_steps : 0;
  }
  std::uint64_t step() const { return train_.steps(); }
  std::size_t step_of_epoch() const { return step_of_epoch_; } // steps that were made in this epoch
  std::size_t steps_in_epoch() const { return steps_in_epoch_; }
  // Whether the epoch is complete; on_epoch is also called for a part of an epoch: see val_check_interval.
  bool epoch_is_over() const { return step_of_epoch_ >= steps_in_epoch_; }
  // Samples of the last step over all ranks that had some; each is assumed to have had as many as this rank in its last step.
  std::size_t rows() const {
    std::size_t with_samples = 0;
    for (const standing& rank : all_ranks_)
      if (steps_of(rank) >= step_of_epoch_) ++with_samples;
    return rows_ * with_samples;
  }
  std::size_t samples_of_epoch() const {
    std::size_t all = 0;
    for (const standing& rank : all_ranks_) all += static_cast<std::size_t>(rank.samples);
    return all;
  }
  // Whether a state that is saved now can be resumed: in the middle of an epoch only if all ranks have equally many batches.
  bool can_be_taken_up() const { return !is_uneven_ || step_of_epoch_ == 0 || step_of_epoch_ >= steps_in_epoch_; }
  double loss() const { return read_losses(), loss_; } // of this rank's last step, the mean over its micro-batches
  // The latest loss that is known without waiting: on an asynchronous device, that of the step before.
  double known_loss() const { return loss_; }
  double learning_rate() const { return train_.learning_rate(); } // of the next step
  double last_rate() const { return rate_; }                      // of the last step

  // In on_log, the metrics of the step: train_loss_step of this rank, and learning_rate; with loss scaling also loss_scale, of
  // the next step, and skipped_updates, all so far, as in the metrics of an epoch. From on_validate on, all metrics of the
  // epoch: train_loss (the mean over its samples and over all ranks), learning_rate, and those that callbacks have added. After
  // val_check_interval steps inside an epoch, they are of the samples since the last such time.
  std::span<const metric_value> metrics() const { return metrics_; }
  void add_metric(std::string name, double value) { metrics_.emplace_back(std::move(name), value); }
  bool validated() const { return validated_; } // this epoch, or this part of it
  bool validates() const { return validates_; } // has any callback an on_validate?
  // The names of all metrics of a validation, if every callback with an on_validate has metric_names(); else empty.
  std::span<const std::string> validation_metrics() const { return validation_metrics_; }

  // Ends the run after the current callbacks. All ranks have to call it at the same point; a single rank calls
  // trainer::request_stop() instead.
  void stop(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  const std::string& why() const { return why_; }
  // Ends the run with an input_error of this text after all callbacks of this epoch, when its state is saved.
  void fail_when_saved(std::string text) {
    if (fault_.empty()) fault_ = std::move(text);
  }
  bool interrupted() const { return interrupted_; }

  // The notes of the run and of all callbacks, which a state contains besides the trainer; take_notes() restores them. All ranks
  // call it.
  state_notes notes() {
    if (!can_be_taken_up())
      throw input_error("fit: expected equally many batches on every rank for a state of the middle of an epoch, found " +
                        batches_of_ranks() + "; save at the end of epochs");
    state_notes out;
    read_losses();
    std::array<double, 2> sums{loss_sum_, row_sum_};
    detail::sum_over_ranks(train_, sums);
    if (step_of_epoch_ > 0 && step_of_epoch_ < steps_in_epoch_) {
      out["fit.sum of losses"] = sums[0];
      out["fit.rows"] = sums[1];
      if (options_.val_check_interval > 0) {
        std::array<double, 2> before{recorded_loss_, recorded_rows_};
        detail::sum_over_ranks(train_, before);
        out["fit.sum of losses before"] = before[0];
        out["fit.rows before"] = before[1];
      }
    }
    write_notes_(out);
    return out;
  }
  void take_notes(const state_notes& notes) {
    const auto number = [&](const char* name) {
      const auto found = notes.find(name);
      return found == notes.end() || rank_ != 0 ? 0.0 : found->second; // rank 0 continues the sums of all ranks
    };
    loss_sum_ = number("fit.sum of losses");
    row_sum_ = number("fit.rows");
    recorded_loss_ = number("fit.sum of losses before");
    recorded_rows_ = number("fit.rows before");
    read_notes_(notes);
  }

private:
  template <class Train, class Batches, class... Callbacks>
  friend class detail::fit_loop;

  fit_run(Trainer& train, Loader& batches, const fit_options& chosen)
      : train_(train), batches_(batches), options_(chosen), rank_(detail::rank_of(train)), ranks_(train.inside().comm().size()) {}

  // The position of a rank's loader, and its batches and samples in an epoch.
  struct standing {
    std::uint64_t epoch = 0, batch = 0, batches = 0, samples = 0;
    std::uint64_t order = 0; // hash of what it reads, if its sampler does not divide the samples among these ranks; else 0
  };
  std::size_t steps_of(const standing& rank) const {
    const std::size_t together = options_.accumulate_grad_batches;
    return (static_cast<std::size_t>(rank.batches) + together - 1) / together;
  }
  std::string batches_of_ranks() const {
    const detail::rank_groups alike(
        all_ranks_.size(), [this](std::size_t a, std::size_t b) { return all_ranks_[a].batches == all_ranks_[b].batches; });
    std::vector<std::string> found;
    for (std::size_t i = 0; i < alike.size(); ++i)
      found.push_back(std::to_string(all_ranks_[alike[i].front()].batches) + " on " + detail::rank_groups::text(alike[i]));
    return detail::rank_groups::joined(found);
  }
  // Begins an epoch: exchanges what each rank will read, and throws input_error if the ranks do not fit together.
  void enter(const loader_place& at) {
    const std::size_t together = options_.accumulate_grad_batches;
    standing own{at.epoch, at.batch, batches_.size()};
    if constexpr (requires { batches_.samples(); }) own.samples = batches_.samples();
    if (!made_a_step_ && ranks_ > 1 && !options_.same_samples && !is_shared()) own.order = batches_.fingerprint(at.epoch) | 1U;
    all_ranks_ = detail::of_all_ranks(train_.inside().comm(), train_.inside().compute(), own);
    compares_samples_ = !made_a_step_ && has_twin_orders();
    is_uneven_ = false;
    steps_in_epoch_ = 0;
    bool cuts_a_step = false; // a rank's last step has fewer micro-batches
    for (const standing& rank : all_ranks_) {
      if (rank.epoch != all_ranks_[0].epoch || rank.batch != all_ranks_[0].batch)
        throw input_error("fit: expected loaders that stand at the same place on every rank, found one at batch " +
                          std::to_string(rank.batch) + " of epoch " + std::to_string(rank.epoch) +
                          " and that of rank 0 at batch " + std::to_string(all_ranks_[0].batch) + " of epoch " +
                          std::to_string(all_ranks_[0].epoch));
      is_uneven_ = is_uneven_ || rank.batches != all_ranks_[0].batches;
      cuts_a_step = cuts_a_step || rank.batches % together != 0;
      steps_in_epoch_ = std::max(steps_in_epoch_, steps_of(rank));
    }
    if (is_uneven_ && cuts_a_step)
      throw input_error("fit: expected equally many batches on every rank, or whole steps of accumulate_grad_batches, found " +
                        batches_of_ranks());
    if (steps_in_epoch_ == 0) throw input_error("fit: expected at least one batch in an epoch, found none");
    epoch_ = static_cast<std::size_t>(at.epoch);
    step_of_epoch_ = (static_cast<std::size_t>(at.batch) + together - 1) / together;
    metrics_.clear();
    validated_ = false;
    if (at.batch == 0) loss_sum_ = row_sum_ = recorded_loss_ = recorded_rows_ = 0;
  }

  // Sets metrics() to those of the epoch, or of the samples since the last time. Returns the number of samples on all ranks.
  double begin_record(bool is_of_epoch) {
    metrics_.clear();
    validated_ = false;
    read_losses();
    std::array<double, 2> sums{loss_sum_ - (is_of_epoch ? 0 : recorded_loss_), row_sum_ - (is_of_epoch ? 0 : recorded_rows_)};
    detail::sum_over_ranks(train_, sums);
    recorded_loss_ = loss_sum_;
    recorded_rows_ = row_sum_;
    if (sums[1] > 0) add_metric("train_loss", sums[0] / sums[1]);
    add_metric("learning_rate", rate_);
    add_loss_scale();
    return sums[1];
  }

  // The scale of the next step's loss, and the updates skipped so far, in a run that scales its loss.
  void add_loss_scale() {
    if (!train_.inside().scales_loss()) return;
    add_metric("loss_scale", train_.loss_scale());
    add_metric("skipped_updates", static_cast<double>(train_.skipped_updates()));
  }

  // Whether the loader's sampler divides the samples among the ranks of this job.
  bool is_shared() const {
    if constexpr (requires { batches_.readers(); }) return batches_.readers() == static_cast<std::size_t>(ranks_);
    else return false;
  }
  bool has_twin_orders() const {
    for (std::size_t a = 0; a < all_ranks_.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (all_ranks_[a].order != 0 && all_ranks_[a].order == all_ranks_[b].order) return true;
    return false;
  }
  // Throws on every rank if two read the same samples. Equal orders may belong to different datasets, a file for each rank, so
  // first batches are compared too: `own` is a hash of this rank's, 0 if it has none.
  void compare_samples(std::uint64_t own) {
    compares_samples_ = false;
    const std::vector<std::uint64_t> all = detail::of_all_ranks(train_.inside().comm(), train_.inside().compute(), own);
    const detail::rank_groups alike(all.size(), [&](std::size_t a, std::size_t b) {
      return all[a] != 0 && all[a] == all[b] && all_ranks_[a].order != 0 && all_ranks_[a].order == all_ranks_[b].order;
    });
    const std::vector<std::size_t>& most = alike[alike.size() - 1];
    if (most.size() > 1)
      throw input_error("fit: expected other samples on every rank, found the same on " + detail::rank_groups::text(most) +
                        "; give the loader sampler{rank}, with the rank's communicator, in place of sampler{}; if it is meant, " +
                        "say fit_options::same_samples");
  }
  template <class Batch>
  static std::uint64_t number_of(const Batch& batch) {
    detail::quick_hash all;
    bool is_known = true; // a user's own loader may have no bytes to read
    const auto add = [&](const auto&... views) {
      const auto add_one = [&](const auto& view) {
        if constexpr (requires { std::as_bytes(std::span(view.data(), view.size())); })
          all.add(std::as_bytes(std::span(view.data(), view.size())));
        else is_known = false;
      };
      (add_one(views), ...);
    };
    const auto add_all = [&](const auto& views) {
      if constexpr (requires { std::tuple_size<std::remove_cvref_t<decltype(views)>>::value; }) std::apply(add, views);
      else add(views);
    };
    add_all(batch.inputs);
    add_all(batch.targets);
    return is_known ? all.value() | 1U : 0;
  }

  // The loss of a micro-batch. It is read during the next step or on request: on an asynchronous device, reading it earlier would
  // wait for the device.
  struct late_loss {
    typename Trainer::loss_type loss;
    double rows;
  };
  void step_is_over(std::vector<late_loss>& its_losses) {
    read_losses();
    std::swap(late_, its_losses);
    its_losses.clear();
    if constexpr (std::is_same_v<typename Trainer::loss_type, double>) read_losses();
  }
  void read_losses() const {
    if (late_.empty()) return;
    double losses = 0, rows = 0;
    for (const late_loss& each : late_) {
      losses += static_cast<double>(each.loss) * each.rows;
      rows += each.rows;
    }
    late_.clear();
    loss_ = losses / rows;
    loss_sum_ += losses;
    row_sum_ += rows;
  }

  Trainer& train_;
  Loader& batches_;
  fit_options options_;
  int rank_;
  int ranks_;
  std::size_t epoch_ = 0;
  std::size_t step_of_epoch_ = 0;
  std::size_t steps_in_epoch_ = 0;
  std::size_t rows_ = 0;
  std::vector<standing> all_ranks_;
  bool is_uneven_ = false;        // the ranks have different numbers of batches
  bool made_a_step_ = false;      // in this call of fit()
  bool compares_samples_ = false; // two ranks read in the same order: compare their first batches
  double rate_ = 0;
  mutable std::vector<late_loss> late_; // of the last step, until they are read
  mutable double loss_ = 0;
  mutable double loss_sum_ = 0; // over the samples of this epoch
  mutable double row_sum_ = 0;
  double recorded_loss_ = 0, recorded_rows_ = 0; // the part of these sums that on_epoch has already seen
  std::vector<metric_value> metrics_;
  std::string why_;
  bool interrupted_ = false;
  bool validated_ = false;
  bool validates_ = false;
  std::vector<std::string> validation_metrics_;
  std::string fault_;
  detail::callback<state_notes&> write_notes_{};
  detail::callback<const state_notes&> read_notes_{};
};

} // namespace cairn::types
