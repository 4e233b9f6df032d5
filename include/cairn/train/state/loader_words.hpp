// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/train/state/loader_facts.hpp>
#include <cairn/train/state/state_file.hpp>

namespace cairn::detail {

inline constexpr const char *batches_mark = "batches of an epoch", *order_mark = "order of the epoch",
                            *steps_mark = "samples of the steps", *datasets_mark = "datasets";

// Adds the words that describe what the loaders of all ranks read.
inline void set_facts(state_words& words, std::span<const loader_facts> all) {
  std::string batches, orders, datasets;
  bool knows_any = false;
  for (const loader_facts& each : all) {
    batches.append(batches.empty() ? "" : " ").append(std::to_string(each.batches));
    orders.append(orders.empty() ? "" : " ").append(state_words::hexadecimal(each.order));
    datasets.append(datasets.empty() ? "" : " ").append(state_words::hexadecimal(each.dataset));
    knows_any = knows_any || each.dataset != 0;
  }
  words.set(batches_mark, std::move(batches));
  words.set(order_mark, std::move(orders));
  if (knows_any) words.set(datasets_mark, std::move(datasets));
  if (all[0].tells_steps != 0 && have_equally_many_batches(all)) words.set(steps_mark, state_words::hexadecimal(steps_of(all)));
}
// Returns word `index`, from 0, of a text of words with spaces between them.
inline std::string_view word_of(std::string_view text, std::size_t index) {
  for (; index > 0; --index) text.remove_prefix(text.find(' ') < text.size() ? text.find(' ') + 1 : text.size());
  return text.substr(0, text.find(' '));
}

// Throws if the ranks read other datasets than the saved run, with as many samples. A dataset without a fingerprint is not
// compared, nor is a state without them.
inline void compare_datasets(std::span<const loader_facts> all, const state_file& file) {
  if (!file.words().has(datasets_mark)) return;
  const std::size_t ranks = all.size();
  const std::string& text = file.words().text(datasets_mark);
  const std::string unknown = state_words::hexadecimal(0);
  const std::string advice = "; read the dataset of that run, or let another pass by state_options::other_dataset";
  const auto saved = [&](std::size_t rank) { return word_of(text, rank); };
  const auto found = [&](std::size_t rank) { return state_words::hexadecimal(all[rank].dataset); };
  if (const std::size_t before = file.place().trainer.ranks; before != ranks) {
    // An index means the same sample on all ranks only if all read one dataset.
    bool is_one = true;
    for (std::size_t rank = 0; rank < before; ++rank) {
      if (saved(rank) == unknown) return;
      is_one = is_one && saved(rank) == saved(0);
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (all[rank].dataset == 0) return;
      is_one = is_one && all[rank].dataset == all[0].dataset;
    }
    if (!is_one)
      file.fail("it was saved by " + std::to_string(before) + " ranks, found " + std::to_string(ranks) +
                ", and ranks have datasets of their own, whose samples another number of ranks cannot share alike; use as many "
                "ranks, or let other datasets pass by state_options::other_dataset");
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string_view before = saved(file.place().trainer.ranks == ranks ? rank : 0);
    if (before == unknown || all[rank].dataset == 0 || before == found(rank)) continue;
    file.fail("the loader" + (ranks > 1 ? " on rank " + std::to_string(rank) : std::string()) +
              " has another dataset, of as many samples: expected that of fingerprint " + std::string(before) + ", found " +
              found(rank) + advice);
  }
}

// Throws if the loaders of the ranks would not read what the saved run would have read.
inline void compare_loaders(std::span<const loader_facts> all, const state_file& file, const state_options& allowed) {
  const saved_place& p = file.place();
  const std::size_t own_ranks = all.size();
  if (!file.words().has(order_mark)) file.fail("it was saved without a loader");
  if (own_ranks != p.trainer.ranks) {
    // Each of n ranks reads every n-th sample: half an epoch of two ranks is not half an epoch of four.
    if (p.next.batch != 0)
      file.fail("it was saved by " + std::to_string(p.trainer.ranks) + " ranks in the middle of epoch " +
                std::to_string(p.next.epoch) + ", found " + std::to_string(own_ranks) +
                ", which share the samples otherwise; use as many ranks, or a state of the end of an epoch");
    if (!file.words().has(steps_mark) || all[0].tells_steps == 0 || !have_equally_many_batches(all))
      file.fail(
          "it was saved by " + std::to_string(p.trainer.ranks) + " ranks, found " + std::to_string(own_ranks) +
          ", and whether their steps see the same samples cannot be told: the ranks have different numbers of batches, or " +
          "the loader has no share_of_steps(); use as many ranks");
    if (file.words().text(steps_mark) != state_words::hexadecimal(steps_of(all)))
      file.fail("it was saved by " + std::to_string(p.trainer.ranks) + " ranks, and steps of " + std::to_string(own_ranks) +
                " would see other samples in epoch " + std::to_string(p.next.epoch) +
                ", or with other weights; is it the same dataset, sampler and seed, do batches have as many rows, and are the " +
                "samples so many that no rank reads some twice?");
    if (!allowed.other_dataset) compare_datasets(all, file);
    return;
  }
  for (std::size_t rank = 0; rank < own_ranks; ++rank) {
    const std::string on = own_ranks > 1 ? " on rank " + std::to_string(rank) : "";
    const std::string_view before = word_of(file.words().text(batches_mark), rank);
    if (before != std::to_string(all[rank].batches))
      file.fail("expected a loader of " + std::string(before) + " batches an epoch" + on + ", found " +
                std::to_string(all[rank].batches) + "; is it the same dataset, the same batch?");
    if (p.next.batch > all[rank].batches)
      file.fail("it goes on with batch " + std::to_string(p.next.batch) + " of " + std::to_string(all[rank].batches) + on);
    if (word_of(file.words().text(order_mark), rank) != state_words::hexadecimal(all[rank].order))
      file.fail("the loader" + on + " would read other samples in epoch " + std::to_string(p.next.epoch) +
                ", or in another order; is it the same dataset, sampler and seed?");
  }
  if (!allowed.other_dataset) compare_datasets(all, file);
}

} // namespace cairn::detail
