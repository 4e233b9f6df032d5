// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/train/ranks/step_facts.hpp>

namespace cairn::detail {

// What a trainer counts and remembers of its steps, in the host's memory. Who copies it can put it back.
struct step_counters {
  std::uint64_t steps = 0;              // updates so far
  std::size_t micro_batches = 0;        // since the last step
  std::size_t last_micro_batches = 1;   // of the last step
  std::size_t micro_batches_before = 1; // of the step before that
  ranks_with_samples last_samples{};    // of the last step since the ranks began, or have joined
  std::size_t rows = 0;                 // samples of the last micro-batch
  double learning_rate = 0;             // of the last step, or as the program has set it
  bool rate_was_set = false;            // by the program, whatever the schedule says
  double gradient_norm = 0;             // of the last step, over all ranks and micro-batches, before clipping
  double scale = 1;                     // by which that step multiplied its gradients
  bool is_scaled = false;               // the gradients are those that it applied
  bool wants_to_stop = false;           // this rank asks to, from the next step on
  bool tells_stop = false;              // the step that is made carries that wish
  bool stops = false;                   // a rank asked to in the last step

  // A state, or another rank, says where training stands: nothing is left of what was here.
  void begin_at(std::uint64_t step) {
    steps = step;
    micro_batches = 0;
    is_scaled = false;
  }
  // A step is given up.
  void give_up() {
    micro_batches = 0;
    wants_to_stop = wants_to_stop || tells_stop;
    tells_stop = false;
  }
};

} // namespace cairn::detail
