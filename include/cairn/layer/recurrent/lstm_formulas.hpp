// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

// The formulas of LSTMCell, element by element, and those of its backward pass; see there for the letters.

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct lstm_cell_value { // g, before it is multiplied
  static constexpr const char* name = "LSTMCell cell gate";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return hyperbolic_tangent(x);
  }
};
// c' = f c + i g
struct lstm_memory_value {
  static constexpr const char* name = "LSTMCell memory";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T f, T c, T i, T g) const {
    return f * c + i * g;
  }
};
// h' = o tanh(c')
struct lstm_state_value {
  static constexpr const char* name = "LSTMCell state";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T o, T c) const {
    return o * hyperbolic_tangent(c);
  }
};
// The gradient of c' by way of h', and added to that by way of the next step.
struct lstm_memory_slope {
  static constexpr const char* name = "LSTMCell memory backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dh, T o, T c) const {
    const T t = hyperbolic_tangent(c);
    return dh * o * (T{1} - t * t);
  }
};
struct lstm_memory_sum {
  static constexpr const char* name = "LSTMCell memory backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dh, T o, T c, T dc) const {
    return dc + lstm_memory_slope{}(dh, o, c);
  }
};
// The gradients of the gates before tanh and the logistic function.
struct lstm_output_slope {
  static constexpr const char* name = "LSTMCell output gate backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dh, T o, T c) const {
    return dh * hyperbolic_tangent(c) * (o * (T{1} - o));
  }
};
struct lstm_gate_slope { // of i, which multiplies g, and of f, which multiplies c
  static constexpr const char* name = "LSTMCell gate backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dc, T gate, T multiplied) const {
    return dc * multiplied * (gate * (T{1} - gate));
  }
};
struct lstm_cell_slope {
  static constexpr const char* name = "LSTMCell cell gate backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dc, T i, T g) const {
    return dc * i * (T{1} - g * g);
  }
};
struct lstm_no_gradient {
  static constexpr const char* name = "LSTMCell output gate backward";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T) const {
    return T{0};
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
