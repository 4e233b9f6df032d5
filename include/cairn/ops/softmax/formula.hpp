// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/ops/softmax_cross_entropy/formula.hpp>

CAIRN_KERNELS_BEGIN

// The derivative of softmax.hpp for one element, on every device; the forward pass takes shifted_exponential and scaled of
// softmax_cross_entropy. T is the type that a row is computed in: float for 16-bit elements.
namespace cairn::detail {

template <class T>
struct softmax_derivative {
  T product; // the sum of dy y
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T y) const { gradient = y * (gradient - product); }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
