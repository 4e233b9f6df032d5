// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/make_folder.hpp>
#include <cairn/train/fit/monitored.hpp>
#include <cairn/train/state/saved_state.hpp>

namespace cairn::types {

// Options of saved_states: the states that it keeps, and when it saves as a callback of fit(). The names are those of Lightning's
// ModelCheckpoint if it has one.
struct saved_states_options {
  std::size_t keep = 3;                               // how many of the newest states; 0: all
  std::string monitor{};                              // the best state by this metric is kept too, as best.safetensors [none]
  metrics::best_is mode = metrics::best_is::smallest; // of that metric
  std::size_t every_n_epochs = 1;                     // 0: not at the end of epochs
  std::uint64_t every_n_train_steps = 0;              // 0: not between the ends of epochs
  bool resume = true;                                 // fit() resumes from the newest state in the folder
  state_options allowed{};                            // differences that a resume accepts
  std::function<void(const std::string&)> say{};      // receives a line for people [stderr]; called on rank 0 only
};

} // namespace cairn::types

namespace cairn {

// A folder of states: the newest few, and the best.
//
//   saved_states states{"runs/a"};
//   states.load_latest(train, batches);             // nothing, the first time
//   for (const auto& [images, labels] : batches) {
//     train.step(images, labels);
//     if (train.steps() % 1000 == 0) states.save(train, batches);
//   }
//
// It is a callback of fit() too, which then resumes from the newest state, and saves after every epoch and after a SIGTERM or
// SIGINT. With ddp every rank has one and makes the same calls; only rank 0 reads and writes. A folder belongs to one run: the
// next start resumes from its newest state. If the folder has a state ahead of the one to be saved, of another run or of an
// abandoned part of this one, nothing is saved beside it: save() throws, and so does fit() before its first step.
class saved_states {
public:
  explicit saved_states(std::string folder, types::saved_states_options chosen = {})
      : folder_(std::move(folder)), chosen_(std::move(chosen)), best_({chosen_.monitor, chosen_.mode}) {}

  // Saves a state, then removes those beyond the newest `keep` of the states that were saved here or found by load_latest().
  // Returns the path. Throws file_error on every rank if saving fails, or if the folder has a state ahead of this one; all states
  // that were there before are kept then.
  template <class Trainer, detail::resumable_loader Loader>
  std::string save(Trainer& train, const Loader& batches, const types::state_notes& notes = {}) {
    const std::string path = path_of(train.steps());
    detail::on_first_rank(train, [&] {
      detail::make_folder(folder_);
      refuse_states_ahead_of(train.steps());
      own_.insert(train.steps());
      detail::remove_dead_parts(folder_, before);
    });
    save_state(train, batches, path, notes);
    detail::on_first_rank(train, [&] { remove_old(train.steps()); });
    saved_at_ = train.steps();
    return path;
  }

  // Resumes from the newest state that is whole; returns nullopt if there are no states. A damaged one is reported by a line, and
  // the one before it is taken; if all are damaged it throws file_error. A whole state of another network or other settings is an
  // error, as in load_state(), and so is one that the system cannot open or read: it may be whole.
  template <class Trainer, detail::resumable_loader Loader>
  std::optional<detail::saved_place> load_latest(Trainer& train, Loader& batches) {
    std::set<std::uint64_t> there, damaged;
    const auto open = [&] { return newest(there, damaged); };
    const auto found = detail::take_up(train, batches, open, chosen_.allowed);
    if (!found) return found;
    own_.swap(there);
    passed_over_.swap(damaged);
    saved_at_ = found->trainer.steps;
    return found;
  }

  const std::string& folder() const { return folder_; }
  std::string best() const { return folder_ + "/best.safetensors"; }
  // The paths of the states, from the most steps to the fewest. Throws file_error if the folder cannot be read.
  std::vector<std::string> all() const {
    std::vector<std::string> out;
    for (const std::uint64_t steps : steps_of_all()) out.push_back(path_of(steps));
    return out;
  }

  // The members of a callback of fit(): see fit.hpp.
  template <class Run>
  void on_resume(Run& run) {
    if (!chosen_.resume) return detail::on_first_rank(run.train(), [&] { refuse_states_ahead_of(run.train().steps()); });
    const auto found = load_latest(run.train(), run.batches());
    if (!found) return;
    run.take_notes(found->notes);
    if (run.rank() == 0)
      say("going on from " + path_of(found->trainer.steps) + ": step " + std::to_string(found->trainer.steps) + ", epoch " +
          std::to_string(found->next.epoch + 1) + ", batch " + std::to_string(found->next.batch));
  }
  template <class Run>
  void on_begin(Run& run) {
    best_.expect_validation(run, "saved_states");
  }
  template <class Run>
  void on_step(Run& run) {
    if (chosen_.every_n_train_steps > 0 && run.step() % chosen_.every_n_train_steps == 0) save_once(run);
  }
  template <class Run>
  void on_save(Run& run) {
    if (best_.improves(run.metrics())) {
      detail::on_first_rank(run.train(), [&] { detail::make_folder(folder_); });
      save_state(run.train(), run.batches(), best(), run.notes());
    }
    if (chosen_.every_n_epochs > 0 && (run.epoch() + 1) % chosen_.every_n_epochs == 0) save_once(run);
    run.fail_when_saved(best_.missing_in(run, "saved_states")); // a metric that never comes would never be best
  }
  template <class Run>
  void on_end(Run& run) {
    if (!run.can_be_taken_up()) {
      if (run.rank() == 0)
        say(run.why() + ": stopped after step " + std::to_string(run.step()) +
            ", in the middle of an epoch of which ranks have different numbers of batches, so it was not saved; the same command "
            "goes on from the state before");
      return;
    }
    save_once(run);
    if (run.interrupted() && run.rank() == 0)
      say(run.why() + ": stopped after step " + std::to_string(run.step()) + ", saved in " + path_of(run.step()) +
          "; the same command goes on from there");
  }
  void write_notes(types::state_notes& notes) const { best_.write("saved_states", notes); }
  void read_notes(const types::state_notes& notes) { best_.read("saved_states", notes); }

private:
  static constexpr std::string_view before = "step-", after = ".safetensors";

  static std::string name_of(std::uint64_t steps) {
    std::string number = std::to_string(steps);
    number.insert(0, 12 - std::min<std::size_t>(12, number.size()), '0'); // names sort like numbers
    return std::string(before) + number + std::string(after);
  }
  std::string path_of(std::uint64_t steps) const { return folder_ + "/" + name_of(steps); }

  template <class Run>
  void save_once(Run& run) {
    if (saved_at_ != run.step()) save(run.train(), run.batches(), run.notes());
  }
  void say(const std::string& line) const {
    if (chosen_.say) chosen_.say(line);
    else std::fprintf(stderr, "%s\n", line.c_str());
  }

  // The steps of all states in descending order. A file with another number of digits in its name is a user's own.
  std::vector<std::uint64_t> steps_of_all() const {
    std::vector<std::uint64_t> out;
    for (const std::string& name : detail::names_in(folder_)) {
      if (name.size() != name_of(0).size() || !name.starts_with(before) || !name.ends_with(after)) continue;
      const std::string_view digits = std::string_view(name).substr(before.size(), name.size() - before.size() - after.size());
      if (digits.find_first_not_of("0123456789") != digits.npos) continue;
      std::uint64_t steps = 0;
      for (const char digit : digits) steps = 10 * steps + static_cast<std::uint64_t>(digit - '0');
      out.push_back(steps);
    }
    std::sort(out.rbegin(), out.rend());
    return out;
  }
  void refuse_states_ahead_of(std::uint64_t steps) const {
    for (const std::uint64_t other : steps_of_all())
      if (other > steps && !passed_over_.contains(other))
        throw file_error(
            "saved_states: '" + path_of(other) + "' is ahead of step " + std::to_string(steps) +
            " of this run, which did not go on from it: expected a folder of this run alone, as the next start would " +
            "take up the other one; go on from it (load_latest(), or resume = true in fit()), choose another " +
            "folder, or move the states away");
  }
  // Removes old states. One that cannot be removed takes space but does no harm. States of other runs stay, and so do damaged
  // ones until this run is ahead of them.
  void remove_old(std::uint64_t saved) {
    passed_over_.erase(saved);
    if (chosen_.keep == 0) return;
    for (std::size_t newer = 0; const std::uint64_t steps : steps_of_all())
      if (steps <= saved && own_.contains(steps) && ++newer > chosen_.keep && ::unlink(path_of(steps).c_str()) == 0)
        own_.erase(steps);
  }
  std::unique_ptr<detail::state_file> newest(std::set<std::uint64_t>& there, std::set<std::uint64_t>& damaged) const {
    std::string faults;
    const std::vector<std::uint64_t> all = steps_of_all();
    there = {all.begin(), all.end()};
    for (const std::uint64_t steps : all) try {
        return std::make_unique<detail::state_file>(path_of(steps));
      } catch (const detail::unreadable_file& fault) {
        throw file_error(std::string("saved_states: ") + fault.what() +
                         "; it may be whole, so none before it is taken: try again, " +
                         "or move it away to go on from the one before");
      } catch (const file_error& fault) {
        say(std::string("passed over: ") + fault.what());
        faults.append("; ").append(fault.what());
        damaged.insert(steps);
      }
    // Starting anew would soon remove states that might still be repaired by hand.
    if (!faults.empty())
      throw file_error("saved_states: no state in '" + folder_ + "' is whole" + faults + "; move them away to begin anew");
    return nullptr;
  }

  std::string folder_;
  types::saved_states_options chosen_;
  detail::monitored best_;
  std::optional<std::uint64_t> saved_at_;
  std::set<std::uint64_t> own_, passed_over_; // by steps; on rank 0
};

} // namespace cairn
