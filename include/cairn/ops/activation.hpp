// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// Activations that a product can apply to its result while it is still in registers, and whose derivative can be computed from
// their output alone.
enum class activation : unsigned char { none, relu };

// The activation of one element. NaN stays NaN, as in torch, so a diverged network is seen and not hidden.
template <class T>
CAIRN_HOST_DEVICE constexpr T activated(activation which, T value) {
  return which == activation::relu && value < T{0} ? T{0} : value;
}

} // namespace cairn::ops

CAIRN_KERNELS_END
