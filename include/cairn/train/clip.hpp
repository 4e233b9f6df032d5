// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/ops/squared_norm/cpu.hpp>

namespace cairn {

// Clips the gradients of a network by the norm of all of them together, as torch.nn.utils.clip_grad_norm_: if
// it is above max_norm they are made smaller by one factor. 0 means that nothing is clipped.
struct clip_norm {
  double max_norm = 0;

  // max_norm / (norm + 1e-6), but at most 1. A norm that is no number gives NaN, so a diverged step is seen.
  constexpr double scale(double norm) const {
    const double factor = max_norm / (norm + 1e-6);
    return max_norm <= 0 || factor > 1 ? 1 : factor;
  }
};

} // namespace cairn
