// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cairn/comm/communicator.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cores.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/train/optimizers/clip.hpp>
#include <cairn/train/optimizers/loss_scale.hpp>
#include <cairn/train/optimizers/rate_schedule.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::types {

// The options of a trainer, besides its types and its optimizer, by name:
//
//   trainer<Net, CrossEntropyLoss, SGD, batch<64>> train{SGD{}, {.seed = 7, .threads = 2}};
//
// Solved is a step that was solved at run time. A fused update cannot clip by the norm of all gradients: when the last one is
// known, most parameters are already updated. The loss is not scaled if
// Unscaled: on a device whose work is done later and that does not decide on updates itself.
template <class Loss, class Solved, bool Fused, bool Unscaled = false>
struct training_options {
  using scaling =
      std::conditional_t<Fused, detail::no_loss_scaling<detail::no_scaling::fused>,
                         std::conditional_t<Unscaled, detail::no_loss_scaling<detail::no_scaling::apart>, detail::loss_scaling>>;

  std::uint64_t seed = 0;        // of the initial parameters and of all random numbers: equal seeds give equal bits
  std::size_t threads = 0;       // inside one operation, on a device that has a choice [this rank's share of the cores]
  int ordinal = -1;              // which device, where a machine has several [this rank's place on its machine, modulo the
                                 // number of devices: with more ranks than devices, some share one]
  bool graphs = true;            // on a GPU, work of a step that comes again is one launch of a CUDA graph
  std::size_t check_every = 100; // ranks compare parameters every n steps, and before that after steps 1, 2, 4, …; 0: never
  bool check_loss = false;       // throw if a loss is not finite, before anything is updated; on an asynchronous device this is
                                 // the only option that makes every step wait
  std::chrono::milliseconds deadline = detail::longest_wait;    // of a wait for an asynchronous device
  rate_schedule learning_rate{};                                // of every step [the optimizer's learning_rate]
  std::conditional_t<Fused, detail::no_clip, clip_norm> clip{}; // of the gradients, over all ranks and micro-batches
  scaling loss_scale{};                                         // of the loss: dynamic_scale{} or fixed_scale{} [none]
  Loss loss{};                                                  // with settings other than its defaults
  Solved schedule{};                                            // solved at run time: memory_curve::within() [the model's policy]

  // The options of the trainer's device.
  template <class Communicator>
  device_options on_device(const Communicator* ranks) const {
    const int place = ranks == nullptr ? 0 : detail::place_here(*ranks);
    return {.threads = threads_beside(ranks), .ordinal = ordinal < 0 ? place : ordinal, .graphs = graphs};
  }
  // The number of threads of a rank beside these other ranks; null: there are no others.
  template <class Communicator>
  std::size_t threads_beside(const Communicator* ranks) const {
    return detail::threads_for(threads, ranks == nullptr ? 1 : detail::ranks_here(*ranks));
  }
  // Throws input_error for invalid numbers.
  void check() const {
    if constexpr (!Fused && !Unscaled) loss_scale.check();
    if constexpr (!Fused)
      detail::check_number("trainer: expected a clip.max_norm of 0, which clips nothing, or more", clip.max_norm, 0,
                           std::numeric_limits<double>::infinity());
  }
};

} // namespace cairn::types
