// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/softmax_cross_entropy/formula.hpp>

CAIRN_KERNELS_BEGIN

// The derivative of softmax.hpp for one element, on every device; the forward pass takes shifted_exponential and scaled of
// softmax_cross_entropy. T is the type that a row is computed in: float for 16-bit elements. Both have a form for inputs that are
// multiplied by a factor, with the same bits if it is 1.
namespace cairn::detail {

template <class T>
struct softmax_derivative {
  T product; // the sum of dy y
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& gradient, T y) const { gradient = y * (gradient - product); }
};

template <class T>
struct scaled_exponential {
  T scale, shift;
  [[gnu::always_inline]] inline void operator()(T& x) const { x = exponential(x * scale - shift); }
};
template <class T>
struct scaled_softmax_derivative {
  T product, scale;
  [[gnu::always_inline]] inline void operator()(T& gradient, T y) const { gradient = y * (gradient - product) * scale; }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
