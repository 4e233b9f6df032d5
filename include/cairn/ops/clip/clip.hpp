// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::detail {

// max_norm / (norm + 1e-6), but at most 1, and 1 with a max_norm of 0: the factor of torch.nn.utils.clip_grad_norm_. A NaN norm
// gives NaN, so a diverged step is noticed.
CAIRN_HOST_DEVICE constexpr double clip_factor(double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  return max_norm <= 0 || factor > 1 ? 1 : factor;
}

} // namespace cairn::detail

namespace cairn::ops {

// *factor = *mean clip_factor(sqrt(*squares) scale *mean, max_norm); a null mean counts as 1. All are single numbers in the
// device's memory, so that on an asynchronous device the host need not wait for the norm, nor know the factor of a mean.
void clip(detail::queue_without_this_op, double* factor, const double* squares, double scale, double max_norm,
          const double* mean) = delete;

} // namespace cairn::ops
