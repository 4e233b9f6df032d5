// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <cairn/data/loader.hpp>
#include <cairn/train/all_ranks.hpp>
#include <cairn/train/state_file.hpp>
#include <cairn/train/training_state.hpp>

namespace cairn {

namespace detail {

// Rank 0 reads what open() gives it, and asks `fits` before it takes anything. No file is no state.
template <class Trainer, class Open, class Fits>
std::optional<saved_place> take_up(Trainer& train, const Open& open, const state_options& allowed, const Fits& fits) {
  std::string words;
  on_first_rank(train, [&] {
    const std::unique_ptr<state_file> file = open();
    if (file == nullptr) return;
    compare_states(train, *file, allowed);
    fits(*file);
    file->give(train);
    words = file->words().packed();
  });
  take_from_first_rank(train, words);
  if (words.empty()) return std::nullopt;
  train.synchronize();
  saved_place found = place_of(state_words::unpacked(words));
  train.restore(found.trainer);
  return found;
}
template <class Trainer, class Open, class Loader>
std::optional<saved_place> take_up_with(Trainer& train, Loader& batches, const Open& open, const state_options& allowed) {
  const auto fits = [&](const state_file& file) { compare_loaders(batches, file, train.state().ranks); };
  std::optional<saved_place> found = take_up(train, open, allowed, fits);
  if (found) batches.go_to(found->next);
  return found;
}
inline auto opened(const std::string& path) {
  return [&path] { return std::make_unique<state_file>(path); };
}

} // namespace detail

// Writes everything that a trainer needs to go on: parameters, buffers, the optimizer's state, steps, learning rate, seed,
// number of ranks, what it was made from in words, and a checksum of each tensor. After load_state() in a new process the
// trainer makes the same steps as it would have, bit for bit; its policy, buckets, batch and threads may be others. The file is a
// safetensors file, of which load_weights() and PyTorch take the parameters. It replaces an old one as a whole or not at all.
// With ddp every rank calls it, rank 0 writes, and if that fails every rank throws file_error.
template <class Trainer>
void save_state(Trainer& train, const std::string& path, const saved_place& at = {}) {
  detail::on_first_rank(train, [&] { detail::write_state(train, path, at.next, detail::state_words{}, at.notes); });
}
// The same with where a loader stands: call it after the step on the current batch.
//
//   for (const auto& [images, labels] : batches) {
//     train.step(images, labels);
//     if (train.steps() % 1000 == 0) save_state(train, batches, "digits.state");
//   }
template <class Trainer, resumable_loader Loader>
void save_state(Trainer& train, const Loader& batches, const std::string& path, const state_notes& notes = {}) {
  detail::on_first_rank(train, [&] {
    const loader_place next = batches.place();
    detail::state_words words;
    words.set(detail::batches_mark, std::uint64_t{batches.size()});
    words.set(detail::order_mark, detail::state_words::hexadecimal(batches.fingerprint(next.epoch)));
    detail::write_state(train, path, next, words, notes);
  });
}

// Takes up what save_state() wrote. Before anything is changed the whole file is read and compared with its checksums, and the
// trainer with what was saved: another network, type of numbers, loss, optimizer, clipping or schedule is refused with a
// file_error that says what differs, and so is another number of ranks, unless ranks x micro-batches are the same. With a
// loader, that goes on where it was; a state of the middle of an epoch needs as many ranks. With ddp every rank calls it, rank 0
// reads, and all take from there what it read.
template <class Trainer>
saved_place load_state(Trainer& train, const std::string& path, const state_options& allowed = {}) {
  return *detail::take_up(train, detail::opened(path), allowed, [](const detail::state_file&) {});
}
template <class Trainer, resumable_loader Loader>
saved_place load_state(Trainer& train, Loader& batches, const std::string& path, const state_options& allowed = {}) {
  return *detail::take_up_with(train, batches, detail::opened(path), allowed);
}

} // namespace cairn
