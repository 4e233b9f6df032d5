// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <cairn/core/error.hpp>
#include <cairn/train/monitored.hpp>
#include <cairn/train/saved_state.hpp>

namespace cairn {

// What saved_states keeps, and when it saves as a callback of fit(). The names are those of Lightning's ModelCheckpoint where
// there is one.
struct saved_states_options {
  std::size_t keep = 3;                          // the newest so many states; 0: all
  std::string monitor{};                         // the best state by this metric is kept too, as best.safetensors [none]
  best_is mode = best_is::smallest;              // of that metric
  std::size_t every_n_epochs = 1;                // 0: not at the end of epochs
  std::uint64_t every_n_train_steps = 0;         // 0: not between them
  bool resume = true;                            // fit() goes on from the newest state that is there
  state_options allowed{};                       // when it does
  std::function<void(const std::string&)> say{}; // takes a line for people [stderr]; called on rank 0 only
};

// A folder of states: the newest few, and the best.
//
//   saved_states states{"runs/a"};
//   states.load_latest(train, batches);             // nothing, the first time
//   for (const auto& [images, labels] : batches) {
//     train.step(images, labels);
//     if (train.steps() % 1000 == 0) states.save(train, batches);
//   }
//
// It is a callback of fit() too: that goes on from the newest state, saves after every epoch, and after a SIGTERM or SIGINT.
// With ddp every rank has one and makes the same calls; only rank 0 reads and writes. A folder belongs to one job at a time.
class saved_states {
public:
  explicit saved_states(std::string folder, saved_states_options chosen = {})
      : folder_(std::move(folder)), chosen_(std::move(chosen)), best_({chosen_.monitor, chosen_.mode}) {}

  // Saves, then removes the states beyond the newest `keep`. Returns the path. Throws file_error on every rank if that fails;
  // the states before it are still there then.
  template <class Trainer, resumable_loader Loader>
  std::string save(Trainer& train, const Loader& batches, const state_notes& notes = {}) {
    const std::string path = path_of(train.steps());
    detail::on_first_rank(train, [&] { make_folder(); });
    save_state(train, batches, path, notes);
    detail::on_first_rank(train, [&] { remove_old(); });
    saved_at_ = train.steps();
    return path;
  }

  // Goes on from the newest state that is whole; nothing if there is none. Of one that is damaged a line says so, and the one
  // before it is taken. One that is whole and of another network or other settings is an error, as in load_state().
  template <class Trainer, resumable_loader Loader>
  std::optional<saved_place> load_latest(Trainer& train, Loader& batches) {
    const auto found = detail::take_up_with(train, batches, [this] { return newest(); }, chosen_.allowed);
    if (found) saved_at_ = found->trainer.steps;
    return found;
  }

  const std::string& folder() const { return folder_; }
  std::string best() const { return folder_ + "/best.safetensors"; }
  // The states by number of steps, from the newest to the oldest.
  std::vector<std::string> all() const {
    std::vector<std::string> out;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, none)) {
      const std::string name = entry.path().filename().string();
      if (name.size() == name_of(0).size() && name.starts_with(before) && name.ends_with(after))
        out.push_back(entry.path().string());
    }
    std::sort(out.rbegin(), out.rend());
    return out;
  }

  // As a callback of fit(): see fit.hpp.
  template <class Run>
  void on_resume(Run& run) {
    if (!chosen_.resume) return;
    const auto found = load_latest(run.train(), run.batches());
    if (!found) return;
    run.take_notes(found->notes);
    if (run.rank() == 0)
      say("going on from " + path_of(found->trainer.steps) + ": step " + std::to_string(found->trainer.steps) + ", epoch " +
          std::to_string(found->next.epoch + 1) + ", batch " + std::to_string(found->next.batch));
  }
  template <class Run>
  void on_step(Run& run) {
    if (chosen_.every_n_train_steps > 0 && run.step() % chosen_.every_n_train_steps == 0) save_once(run);
  }
  template <class Run>
  void on_save(Run& run) {
    if (best_.improves(run.metrics())) {
      detail::on_first_rank(run.train(), [&] { make_folder(); });
      save_state(run.train(), run.batches(), best(), run.notes());
    }
    if (chosen_.every_n_epochs > 0 && (run.epoch() + 1) % chosen_.every_n_epochs == 0) save_once(run);
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
  void write_notes(state_notes& notes) const { best_.write("saved_states", notes); }
  void read_notes(const state_notes& notes) { best_.read("saved_states", notes); }

private:
  static constexpr std::string_view before = "step-", after = ".safetensors";

  static std::string name_of(std::uint64_t steps) {
    std::string number = std::to_string(steps);
    number.insert(0, 12 - std::min<std::size_t>(12, number.size()), '0'); // by name as by number
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

  void make_folder() const {
    std::error_code fault;
    std::filesystem::create_directories(folder_, fault);
    if (fault && !std::filesystem::is_directory(folder_))
      throw file_error("saved_states: cannot make the folder '" + folder_ + "': " + fault.message());
    // What a process left behind that was killed while it wrote. Its number is in the name; one that still runs keeps its file.
    for (const auto& entry : std::filesystem::directory_iterator(folder_, fault)) {
      const std::string name = entry.path().filename().string();
      const std::size_t at = name.find(".part-");
      if (at == name.npos || !name.starts_with(before)) continue;
      const auto process = static_cast<pid_t>(std::strtol(name.c_str() + at + 6, nullptr, 10));
      if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) std::filesystem::remove(entry.path(), fault);
    }
  }
  void remove_old() const {
    if (chosen_.keep == 0) return;
    const auto states = all();
    std::error_code none; // one that cannot be removed takes room, and does no harm
    for (std::size_t i = chosen_.keep; i < states.size(); ++i) std::filesystem::remove(states[i], none);
  }
  std::unique_ptr<detail::state_file> newest() const {
    std::string faults;
    for (const std::string& path : all()) try {
        return std::make_unique<detail::state_file>(path);
      } catch (const file_error& fault) {
        say(std::string("passed over: ") + fault.what());
        faults.append("; ").append(fault.what());
      }
    // Beginning anew would soon remove what might still be saved by hand.
    if (!faults.empty())
      throw file_error("saved_states: no state in '" + folder_ + "' is whole" + faults + "; move them away to begin anew");
    return nullptr;
  }

  std::string folder_;
  saved_states_options chosen_;
  detail::monitored best_;
  std::optional<std::uint64_t> saved_at_;
};

} // namespace cairn
