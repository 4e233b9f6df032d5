// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/train/optimizers/loss_scale.hpp>
#include <cairn/train/ranks/step_facts.hpp>

namespace cairn::detail {

// Counters and other values of a trainer's steps, in the host's memory. A copy of them can be put back.
struct step_counters {
  std::uint64_t steps = 0;              // updates so far, with those that were skipped
  std::size_t micro_batches = 0;        // since the last step
  std::size_t last_micro_batches = 1;   // of the last step
  std::size_t micro_batches_before = 1; // of the step before that
  ranks_with_samples last_samples{};    // of the last step; none at the start and after join()
  std::size_t rows = 0;                 // samples of the last micro-batch
  double learning_rate = 0;             // of the last step, or as the program has set it
  bool rate_was_set = false;            // by the program; overrides the schedule
  double gradient_norm = 0;             // of the last step, over all ranks and micro-batches, before clipping
  double scale = 1;                     // by which that step multiplied its gradients
  loss_scale_state loss_scale{};        // of the next step
  // Where the device decides on updates, `loss_scale` is what the host knows: that after step scale_step. All ranks know the one
  // before it, as the host waits for a step before it makes the second after it.
  loss_scale_state loss_scale_before{};
  std::uint64_t scale_step = 0;
  double input_gradient_scale = 1; // by which the last micro-batch's input gradient is multiplied
  bool is_scaled = false;          // the gradients are those that it applied
  bool wants_to_stop = false;      // this rank asks to; sent with the next step
  bool tells_stop = false;         // the current step carries that request
  bool stops = false;              // a rank asked to in the last step

  // The number of updates that changed the parameters.
  std::uint64_t updates() const { return steps - loss_scale.skipped; }

  // The state that all ranks compare in the next step.
  const loss_scale_state& compared_scale() const { return scale_step == steps ? loss_scale_before : loss_scale; }
  // Takes the state after a step from the device.
  void learn_scale(std::uint64_t step, const loss_scale_state& found) {
    loss_scale_before = loss_scale;
    loss_scale = found;
    scale_step = step;
  }
  // Training goes on with this state.
  void begin_scale(const loss_scale_state& given) {
    loss_scale = loss_scale_before = given;
    scale_step = steps;
  }
  // Training goes on at this step, as a saved state or another rank says. Micro-batches are dropped.
  void begin_at(std::uint64_t step) {
    steps = step;
    micro_batches = 0;
    is_scaled = false;
  }
  // Gives up a step. A request to stop that it carried is sent with the next one.
  void give_up() {
    micro_batches = 0;
    wants_to_stop = wants_to_stop || tells_stop;
    tells_stop = false;
  }
};

} // namespace cairn::detail
