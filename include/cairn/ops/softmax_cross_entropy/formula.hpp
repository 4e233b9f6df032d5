// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

// The formulas of softmax_cross_entropy.hpp, with its letters, on every device. T is the type that a row is computed in: float
// for 16-bit logits. What belongs to a whole row is a double.
namespace cairn::detail {

template <class T>
struct shifted_exponential {
  T shift;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const { x = exponential_or_zero(x - shift); }
};
template <class T>
struct scaled {
  T factor;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const { x *= factor; }
};
template <class T>
struct lowered {
  T amount;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x) const { x -= amount; }
};
template <class T>
struct lowered_by_weight {
  T factor;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& x, T weight) const { x -= factor * weight; }
};

// What a row's loss and gradient depend on besides the row and its target. Without options spread and all are 0.
struct cross_entropy_shares {
  double share;  // 1 / W
  double kept;   // 1 - a
  double spread; // a / C
  double all;    // a / C times the sum of the class weights

  // From the sums of the weights of all targets that count, and of all classes.
  [[gnu::always_inline]] CAIRN_HOST_DEVICE static inline cross_entropy_shares of(double targets, double weights, double smoothing,
                                                                                 std::size_t classes) {
    const double spread = smoothing / static_cast<double>(classes);
    return {targets == 0 ? 0 : 1 / targets, 1 - smoothing, spread, spread * weights};
  }
  // The loss of a row times W, from the weight of its target, the sum of e^(x_c - m), x_t - m, and the sum of w_c (x_c - m).
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline double loss(double weight, double sum, double chosen, double distances) const {
    const double own = kept * weight;
    return (own + all) * std::log(sum) - own * chosen - spread * distances;
  }
  // The gradient of x_c is  e^(x_c - m) factor - even w_c - [c = t] of_target.
  template <class T>
  struct of_row {
    T factor, even, of_target;
  };
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline of_row<T> gradient(double weight, double sum) const {
    const double own = kept * weight;
    return {static_cast<T>(share * (own + all) / sum), static_cast<T>(share * spread), static_cast<T>(share * own)};
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END
