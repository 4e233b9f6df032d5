// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

// The formulas of GRUCell, element by element, and those of its backward pass; see there for the letters.

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// n = tanh(a + r b), where a comes from the input and b from the state.
struct gru_new_value {
  static constexpr const char* name = "GRUCell new gate";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T a, T r, T b) const {
    return hyperbolic_tangent(a + r * b);
  }
};
// h' = (1 - z) n + z h
struct gru_state_value {
  static constexpr const char* name = "GRUCell state";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T n, T z, T h) const {
    return n + z * (h - n);
  }
};
// The gradients of the gates before tanh and the logistic function: dn, dz, and dr given dn.
struct gru_new_slope {
  static constexpr const char* name = "GRUCell new gate backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T z, T n) const {
    return dy * (T{1} - z) * (T{1} - n * n);
  }
};
struct gru_update_slope {
  static constexpr const char* name = "GRUCell update gate backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T z, T n, T h) const {
    return dy * (h - n) * (z * (T{1} - z));
  }
};
struct gru_reset_slope {
  static constexpr const char* name = "GRUCell reset gate backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dn, T r, T b) const {
    return dn * b * (r * (T{1} - r));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
