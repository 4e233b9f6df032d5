// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/layer/gradient_check/guarded_tensors.hpp>
#include <cairn/ops/activation.hpp>

// The expected results of a layer that fuses or adds, made from its plain results.
namespace cairn::detail {

// Forward: the first output with an activation applied, then the addend added.
template <class T>
guarded_tensors<T> then_fused(guarded_tensors<T> y, activation which, const T* addend) {
  for (std::size_t i = 0; i < y.size(0); ++i) {
    y[0][i] = activated(which, y[0][i]);
    if (addend != nullptr) y[0][i] += addend[i];
  }
  return y;
}

// Backward: the gradient of the first input with the addend added, and 0 where the activation before it cut off.
template <class T>
guarded_tensors<T> before_fused(guarded_tensors<T> dx, const guarded_tensors<T>& x, activation which, const T* addend) {
  for (std::size_t i = 0; i < dx.size(0); ++i) {
    if (addend != nullptr) dx[0][i] += addend[i];
    if (which == activation::relu && !(x[0][i] > 0)) dx[0][i] = 0;
  }
  return dx;
}

} // namespace cairn::detail
