// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/train/ranks/all_ranks.hpp>
#include <cairn/train/state/buffers_of_others.hpp>
#include <cairn/train/state/loader_facts.hpp>
#include <cairn/train/state/loader_words.hpp>
#include <cairn/train/state/state_file.hpp>
#include <cairn/train/state/training_state.hpp>

namespace cairn::detail {

// The facts of all ranks' loaders for the epoch with which a state goes on; empty without a loader.
struct no_loader {};
template <class Trainer, class Loader>
std::vector<loader_facts> facts_behind(Trainer& train, [[maybe_unused]] const Loader& batches,
                                       [[maybe_unused]] const saved_place& saved, [[maybe_unused]] const state_options& allowed) {
  if constexpr (std::is_same_v<Loader, no_loader>) return {};
  else {
    const training_state own = train.state();
    return facts_of_ranks_loaders(
        train, batches, saved.next,
        static_cast<std::size_t>(own.micro_batches_are_told ? own.micro_batches : allowed.micro_batches));
  }
}

// Resumes from the file that open() returns on rank 0; returns nullopt if that returns none. Before anything is changed, rank 0
// compares its trainer, which stands for all as ranks share these settings, and what the loader of each rank reads.
template <class Trainer, class Open, class Loader>
std::optional<saved_place> take_up(Trainer& train, Loader& batches, const Open& open, const state_options& allowed) {
  if (allowed.micro_batches == 0) throw input_error("load_state: expected state_options::micro_batches of 1 or more, found 0");
  buffers_of_others others(train);
  std::unique_ptr<state_file> file;
  std::string words;
  on_first_rank(train, "load_state", [&] {
    file = open();
    if (file == nullptr) return;
    compare_states(train, *file, allowed, others);
    words = file->words().packed();
  });
  take_from_first_rank(train, words);
  if (words.empty()) return std::nullopt;
  std::optional<saved_place> found = place_of(state_words::unpacked(words));
  const std::vector<loader_facts> facts = facts_behind(train, batches, *found, allowed);
  on_first_rank(train, [&] {
    if constexpr (!std::is_same_v<Loader, no_loader>) compare_loaders(facts, *file, allowed);
    file->give(train, others);
  });
  train.synchronize();
  others.scatter(train);
  train.restore(found->trainer);
  if constexpr (!std::is_same_v<Loader, no_loader>) batches.go_to(found->next);
  return found;
}
inline auto opened(const std::string& path) {
  return [&path] { return std::make_unique<state_file>(path); };
}

} // namespace cairn::detail

namespace cairn {

// Writes everything that a trainer needs to go on: parameters, buffers of all ranks, the optimizer's state, steps, learning rate,
// seed, number of ranks, its settings in words, and a checksum of each tensor. After load_state() in a new process the trainer
// makes the same steps as it would have made, bit for bit; its policy, buckets, batch and threads may differ. The file is a
// safetensors file, from which load_weights() and PyTorch can load the parameters. It replaces an old one as a whole or not at
// all. With ddp every rank calls it, rank 0 writes, and if that fails every rank throws file_error. If the ranks have different
// parameters, all throw input_error and nothing is written: a state of rank 0 would hide the difference.
template <class Trainer>
void save_state(Trainer& train, const std::string& path, const detail::saved_place& at = {}) {
  detail::compare_parameters(train, "save_state");
  detail::buffers_of_others others(train);
  others.gather(train);
  detail::on_first_rank(train, "save_state",
                        [&] { detail::write_state(train, path, at.next, detail::state_words{}, at.notes, others); });
}
// The same with the place of a loader, which is the same on every rank: call it after the step on the current batch.
//
//   for (const auto& [images, labels] : batches) {
//     train.step(images, labels);
//     if (train.steps() % 1000 == 0) save_state(train, batches, "digits.state");
//   }
template <class Trainer, detail::resumable_loader Loader>
void save_state(Trainer& train, const Loader& batches, const std::string& path, const types::state_notes& notes = {}) {
  detail::compare_parameters(train, "save_state");
  const types::loader_place next = batches.place();
  const std::vector<detail::loader_facts> facts =
      detail::facts_of_ranks_loaders(train, batches, next, static_cast<std::size_t>(train.state().micro_batches));
  detail::compare_places(facts, "save_state");
  detail::buffers_of_others others(train);
  others.gather(train);
  detail::on_first_rank(train, "save_state", [&] {
    detail::state_words words;
    detail::set_facts(words, facts);
    detail::write_state(train, path, next, words, notes, others);
  });
}

// Resumes from a file of save_state(). Before anything is changed, the whole file is read and compared with its checksums, and
// the trainer is compared with the saved one. If it would not go on as the same run, a file_error says what differs
// (same_run.hpp has the list). ranks x micro-batches of a step have to be the same as before. Another number of ranks has to see
// the same samples in each step, which is possible only at the end of an epoch, and not with BatchNorm. A loader goes on where it
// was, and what that of each rank reads is compared. With ddp every rank calls it; rank 0 reads the file and sends it to all.
template <class Trainer>
detail::saved_place load_state(Trainer& train, const std::string& path, const types::state_options& allowed = {}) {
  detail::no_loader none;
  return *detail::take_up(train, none, detail::opened(path), allowed);
}
template <class Trainer, detail::resumable_loader Loader>
detail::saved_place load_state(Trainer& train, Loader& batches, const std::string& path,
                               const types::state_options& allowed = {}) {
  return *detail::take_up(train, batches, detail::opened(path), allowed);
}

} // namespace cairn
