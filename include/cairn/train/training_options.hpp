// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cairn/comm/communicator.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/train/optimizers/clip.hpp>
#include <cairn/train/optimizers/rate_schedule.hpp>
#include <cairn/train/settings.hpp>

namespace cairn {

// Everything that a trainer is told besides its types and its optimizer, by name:
//
//   trainer<Net, CrossEntropyLoss, SGD, batch<64>> train{SGD{}, {.seed = 7, .threads = 2}};
//
// Solved is a step that was solved when the program runs. A fused update has no norm of all gradients to clip by: when the
// last one is known, most parameters are updated.
template <class Loss, class Solved, bool Fused>
struct training_options {
  std::uint64_t seed = 0;        // of the initial parameters and of all random numbers: equal seeds, equal bits
  std::size_t threads = 0;       // inside one operation, on a device that has a choice [this rank's share of the cores]
  int ordinal = -1;              // which device, where a machine has several [this rank's place on its machine, again from the
                                 // first where there are more ranks than devices: they share one then]
  std::size_t check_every = 100; // steps: so often ranks compare their parameters, and behind steps 1, 2, 4, … before; 0 is never
  bool check_loss = false;       // throw when a loss is not a finite number, before anything is updated; on a device whose work
                                 // is done later, this option is the only one that makes every step wait
  std::chrono::milliseconds deadline = detail::longest_wait;    // of a wait for such a device
  rate_schedule learning_rate{};                                // of every step [the optimizer's learning_rate]
  std::conditional_t<Fused, detail::no_clip, clip_norm> clip{}; // of the gradients, over all ranks and micro-batches
  Loss loss{};                                                  // with other numbers than its defaults
  Solved schedule{}; // solved when the program runs: memory_curve::within() [the model's policy]

  // What the trainer's device is told.
  template <class Communicator>
  device_options on_device(const Communicator* ranks) const {
    const int place = ranks == nullptr ? 0 : detail::place_here(*ranks);
    return {.threads = threads_beside(ranks), .ordinal = ordinal < 0 ? place : ordinal};
  }
  // The number of threads where these ranks run; null: there are no others.
  template <class Communicator>
  std::size_t threads_beside(const Communicator* ranks) const {
    return detail::threads_for(threads, ranks == nullptr ? 1 : detail::ranks_here(*ranks));
  }
  // Throws input_error about numbers that make no sense.
  void check() const {
    if constexpr (!Fused)
      detail::check_number("trainer: expected a clip.max_norm of 0, which clips nothing, or more", clip.max_norm, 0,
                           std::numeric_limits<double>::infinity());
  }
};

} // namespace cairn
