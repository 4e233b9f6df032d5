// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/core/fraction.hpp>
#include <cairn/layer/elementwise_layer.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

template <auto Alpha>
struct elu_value {
  static constexpr const char* name = "ELU forward";
  static constexpr double alpha = static_cast<double>(Alpha);
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T x) const {
    return blend(x > T{0}, x, static_cast<T>(alpha) * exponential_minus_one(x));
  }
};

// For x <= 0 the derivative is Alpha e^x = y + Alpha.
template <auto Alpha>
struct elu_slope {
  static constexpr const char* name = "ELU backward";
  static constexpr double alpha = static_cast<double>(Alpha);
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T dy, T y) const {
    return blend(y <= T{0}, dy * (y + static_cast<T>(alpha)), dy);
  }
};

struct elu_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(Layer::options_are_right,
                  "ELU: alpha must be 0 or more, as backward reads the output; write ELU<>, or ELU<fraction{1, 2}>");
    return Layer::options_are_right;
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// y = x if x > 0, else Alpha (e^x - 1), as torch.nn.ELU(alpha) with its default of 1 (Clevert, Unterthiner, Hochreiter:
// Exponential linear units. arXiv:1511.07289); within 3e-7 relative for float. For x <= 0 the derivative is y + Alpha, as with
// torch's inplace=True: backward does not need the input, which the output may overwrite. So the derivative is within a rounding
// of y, not of itself, where e^x is small, and Alpha must not be negative.
template <auto Alpha = fraction{1}>
struct ELU : detail::elu_message, detail::elementwise_layer<detail::elu_value<Alpha>, detail::elu_slope<Alpha>, reads::output> {
  static constexpr bool options_are_right = static_cast<double>(Alpha) >= 0;

  // An exponential is about 15 operations.
  static constexpr work flops(const arguments& in) { return {20 * in[0].size(), 3 * in[0].size(), 3 * in[0].size()}; }
};

} // namespace cairn
