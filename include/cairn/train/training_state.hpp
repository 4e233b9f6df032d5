// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/train/rank_texts.hpp>
#include <cairn/train/settings.hpp>

namespace cairn {

// What a trainer is besides its tensors: numbers, and words that say what it was made from. Two trainers of equal words, equal
// numbers and equal tensors make the same steps from here on, whatever their policies.
struct training_state {
  std::uint64_t steps = 0;         // updates so far
  std::uint64_t seed = 0;          // of all random numbers, which are a function of it and of the step
  std::uint64_t ranks = 1;         // of the job
  std::uint64_t micro_batches = 1; // of each rank in the last step
  double learning_rate = 0;        // of the next step
  bool rate_was_set = false;       // by trainer::learning_rate(); else the schedule or the optimizer says it

  // Policy, buckets, batch and fused updates are none of these: they change no bit.
  static constexpr std::array<const char*, 6> names{"network",   "type of numbers", "loss",
                                                    "optimizer", "clipping",        "schedule of rates"};
  static constexpr std::size_t settings = 2; // from this one on they are numbers that may be changed on purpose
  std::array<std::string, names.size()> words;
};

// Numbers by name that go into a state with everything else: what a program's own loop, or a callback of fit(), has to know
// when it goes on. They come back bit for bit.
using state_notes = std::map<std::string, double>;

namespace detail {

// The words of a trainer of this network with these options.
template <class Net, class T, class Options, class Optimizer>
std::array<std::string, training_state::names.size()> words_of(const Options& given, const Optimizer& optimizer) {
  std::array<std::string, training_state::names.size()> out{std::string(type_name<function_of<Net>>()),
                                                            std::string(type_name<T>()),
                                                            with_numbers(given.loss),
                                                            with_numbers(optimizer) + " from a rate of " +
                                                                shortest_text(optimizer.learning_rate),
                                                            "max_norm 0",
                                                            "none"};
  if constexpr (requires { double{given.clip.max_norm}; }) out[4] = "max_norm " + shortest_text(given.clip.max_norm);
  if (given.learning_rate) out[5] = "one that begins with " + shortest_text(given.learning_rate.at(0));
  for (std::string& text : out) text = without_namespace(std::move(text));
  return out;
}

} // namespace detail

} // namespace cairn
