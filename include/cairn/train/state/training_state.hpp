// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <cairn/core/explain.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/train/optimizers/loss_scale.hpp>
#include <cairn/train/state/same_run.hpp>

namespace cairn::detail {

// The state of a trainer besides its tensors: numbers, and its settings in words. Two trainers with equal words, equal numbers
// and equal tensors make the same steps from here on, whatever their policies.
struct training_state {
  std::uint64_t steps = 0;             // updates so far
  std::uint64_t seed = 0;              // of all random numbers, which are a function of it and of the step
  std::uint64_t ranks = 1;             // of the job
  std::uint64_t micro_batches = 1;     // of each rank in a step; the last of an epoch may have had fewer
  bool micro_batches_are_told = false; // set by fit(); else they are the larger number of the last two steps
  double learning_rate = 0;            // of the next step
  bool rate_was_set = false;           // by trainer::learning_rate(); else the schedule or the optimizer gives it
  loss_scale_state loss_scale{};       // if the loss is scaled

  // The settings of the run that a resume compares by words (same_run.hpp), and these words.
  static constexpr std::array<run_setting, settings_in_words> compared = [] {
    std::array<run_setting, settings_in_words> out{};
    std::copy_if(run_settings.begin(), run_settings.end(), out.begin(), is_kept_in_words);
    return out;
  }();
  std::array<std::string, compared.size()> words;
};

} // namespace cairn::detail

namespace cairn::types {

// Named numbers that a state contains with everything else, for a program's own loop or a callback of fit() to resume from. They
// are restored bit for bit.
using state_notes = std::map<std::string, double>;

} // namespace cairn::types

namespace cairn::detail {

// The words of a trainer of this network with these options, and with statistics over all ranks in `summed` layers.
template <class Net, class T, class Options, class Optimizer>
auto words_of(const Options& given, const Optimizer& optimizer, std::size_t summed = 0) {
  auto all = words_of_given(given, optimizer, false, true);
  all[setting("network")] = without_namespace(std::string(type_name<function_of<Net>>()));
  all[setting("element type")] = without_namespace(std::string(type_name<T>()));
  all[setting("batch statistics")] = text_of_statistics(summed);
  decltype(training_state::words) out;
  for (std::size_t i = 0, next = 0; i < all.size(); ++i)
    if (is_kept_in_words(run_settings[i])) out[next++] = std::move(all[i]);
  return out;
}

} // namespace cairn::detail
