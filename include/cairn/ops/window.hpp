// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::ops {

// How a window moves along one axis of an image: tap k of output o reads input o * stride + k * dilation - padding, if there is
// one. There is `padding` before the first input and after the last.
struct window_axis {
  std::size_t in = 0, out = 0; // the numbers of inputs and outputs
  std::size_t kernel = 1, stride = 1, padding = 0, dilation = 1;

  // The input that a tap of an output reads. If there is none, this is at least `in`: past the last input, or wrapped around
  // below 0.
  CAIRN_HOST_DEVICE constexpr std::size_t input(std::size_t output, std::size_t tap) const {
    return output * stride + tap * dilation - padding;
  }
  // The number of inputs from the first that a window reads to the last.
  CAIRN_HOST_DEVICE constexpr std::size_t extent() const { return (kernel - 1) * dilation + 1; }

  bool operator==(const window_axis&) const = default;
};

// A window over images that are laid out as (batch, height, width, channels).
struct window {
  window_axis y{}, x{};

  CAIRN_HOST_DEVICE constexpr std::size_t inputs() const { return y.in * x.in; } // pixels of one image
  CAIRN_HOST_DEVICE constexpr std::size_t outputs() const { return y.out * x.out; }
  CAIRN_HOST_DEVICE constexpr std::size_t taps() const { return y.kernel * x.kernel; }

  bool operator==(const window&) const = default;
};

// The axis with as many outputs as fit, counted as in torch; 0 if not even one does. With `ceil` the last window may reach beyond
// the padding after the image, if it begins before that padding.
constexpr window_axis fitted(window_axis a, bool ceil = false) {
  const std::size_t padded = a.in + 2 * a.padding, extent = a.extent();
  if (padded < extent) return a.out = 0, a;
  a.out = (padded - extent + (ceil ? a.stride - 1 : 0)) / a.stride + 1;
  if (ceil && (a.out - 1) * a.stride >= a.in + a.padding) --a.out;
  return a;
}

} // namespace cairn::ops
