// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/train/clip.hpp>

namespace cairn {

// The options of a trainer of a fused_update: those of another one, but clipping. There is no norm of all gradients to clip
// by: when the last one is known, most parameters are updated.
struct fused_training_options {
  std::size_t threads = 1;
  bool check_loss = false;
  detail::no_clip clip{};
};

// What a trainer may be told besides its types.
struct training_options {
  std::size_t threads = 1; // inside one operation, on a device that has a choice
  bool check_loss = false; // throw when a loss is not a finite number, before anything is updated
  clip_norm clip{};        // of the gradients, over all ranks and micro-batches

  template <std::same_as<fused_training_options> Fused>
  constexpr operator Fused() const {
    static_assert(sizeof(Fused) == 0,
                  "fused_update: training_options have a clip, which a fused update cannot do; "
                  "give its trainer fused_training_options");
    return {};
  }
};

} // namespace cairn
