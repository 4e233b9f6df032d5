// SPDX-License-Identifier: MIT
// Ranks that train the small network on a GPU that they share, and one trainer that makes a micro-batch for each of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/train/ddp.hpp>

#include "network.hpp"

namespace testing {

inline constexpr std::size_t micro_batches = 2, rank_steps = 4;

inline samples samples_of(std::size_t step, std::size_t micro_batch, std::size_t rank) {
  return {step == 2 ? 3U : most_rows, 1000 * step + 10 * micro_batch + rank};
}
// How each rank trains.
struct training {
  bool clips = true;
  bool accumulates = false; // each step of a rank has several micro-batches
  bool uneven = false;      // each rank has samples for two steps fewer than the rank before
  int ordinal = 0;          // of the GPU
  std::size_t steps_of(std::size_t rank) const { return rank_steps - (uneven ? 2 * rank : 0); }
};

template <class Type>
typename Type::options options_of(const training& how) {
  typename Type::options given{.seed = 5, .ordinal = how.ordinal, .check_every = 2};
  if constexpr (!Type::fused) given.clip.max_norm = how.clips ? 0.5 : 0;
  return given;
}
template <class T>
std::vector<float> learnt(T& t) {
  std::vector<float> all;
  t.for_each([&](const auto& q) { all.insert(all.end(), q.numbers.begin(), q.numbers.end()); });
  t.for_each_optimizer_state([&](std::size_t, const auto& q) { all.insert(all.end(), q.numbers.begin(), q.numbers.end()); });
  return all;
}

// The parameters and optimizer states of one rank, and the buffers of its layers.
struct told {
  std::vector<float> learnt, buffers;
  bool operator==(const told&) const = default;
};
template <class Model, class Device, class Rank>
told told_by_rank(Rank& rank, const training& how) {
  using type = trainer_of<Model, Device>;
  type t{rank, cairn::AdamW{.learning_rate = 0.02}, options_of<type>(how)};
  const auto own = static_cast<std::size_t>(rank.rank());
  for (std::size_t step = 0; step < how.steps_of(own); ++step) {
    std::size_t m = 0;
    if constexpr (!type::fused)
      for (; how.accumulates && m + 1 < micro_batches; ++m) {
        const samples s = samples_of(step, m, own);
        t.accumulate(s.x, s.y);
      }
    const samples s = samples_of(step, m, own);
    t.step(s.x, s.y);
  }
  if (how.uneven) t.join();
  told all{learnt(t), {}};
  t.for_each_buffer([&](const auto& q) { all.buffers.insert(all.buffers.end(), q.numbers.begin(), q.numbers.end()); });
  return all;
}
// Trains `ranks` ranks as threads and returns the result of each.
template <class Model, class Device = cairn::cuda>
std::vector<told> told_by(int ranks, const training& how = {}) {
  std::vector<told> all(static_cast<std::size_t>(ranks));
  // A long deadline, as a tool that checks every access of a GPU makes it many times slower.
  cairn::threads{ranks, {.deadline = std::chrono::minutes(5)}}.run(
      [&](cairn::threads::rank& rank) { all[static_cast<std::size_t>(rank.rank())] = told_by_rank<Model, Device>(rank, how); });
  return all;
}
// Trains one trainer that has a micro-batch for each rank, and returns what it learns.
template <class Model>
std::vector<float> learnt_from_micro_batches(std::size_t ranks, const training& how = {}) {
  using type = trainer_of<Model, cairn::cuda>;
  type t{cairn::AdamW{.learning_rate = 0.02}, options_of<type>(how)};
  for (std::size_t step = 0; step < rank_steps; ++step) {
    std::size_t with_samples = 0;
    while (with_samples < ranks && step < how.steps_of(with_samples)) ++with_samples;
    for (std::size_t rank = 0; rank < with_samples; ++rank) {
      const samples s = samples_of(step, 0, rank);
      if (rank + 1 < with_samples) t.accumulate(s.x, s.y);
      else t.step(s.x, s.y);
    }
  }
  return learnt(t);
}

} // namespace testing
