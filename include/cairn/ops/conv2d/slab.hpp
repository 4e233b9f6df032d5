// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/channel_statistics/columns.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/window.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The results along one axis and the sources that they are computed from. Result r of `count` is element first + r * step of its
// axis. Its tap k reads source r * stride + offset(k), if the tap belongs to these results at all and the source exists.
//
// In forward, the results are the outputs. In the input gradient, the results are the inputs, and an input reads the outputs
// whose windows cover it: with a stride s the inputs p, p + s, p + 2 s ... have the same taps, and each of these phases is a
// convolution of stride 1.
struct axis_walk {
  std::size_t count = 0, first = 0, step = 1;
  std::size_t source = 0; // the number of sources
  std::size_t stride = 1, kernel = 1;
  std::ptrdiff_t start = 0, by_tap = 1, divisor = 1;

  static constexpr axis_walk of_outputs(const window_axis& a) {
    return {
        a.out, 0, 1, a.in, a.stride, a.kernel, -static_cast<std::ptrdiff_t>(a.padding), static_cast<std::ptrdiff_t>(a.dilation),
        1};
  }
  // `phase` is 0 … stride - 1; it may have no inputs.
  static constexpr axis_walk of_inputs(const window_axis& a, std::size_t phase) {
    return {a.in > phase ? (a.in - phase + a.stride - 1) / a.stride : 0,
            phase,
            a.stride,
            a.out,
            1,
            a.kernel,
            static_cast<std::ptrdiff_t>(phase + a.padding),
            -static_cast<std::ptrdiff_t>(a.dilation),
            static_cast<std::ptrdiff_t>(a.stride)};
  }

  constexpr bool takes(std::size_t tap) const { return (start + static_cast<std::ptrdiff_t>(tap) * by_tap) % divisor == 0; }
  constexpr std::ptrdiff_t offset(std::size_t tap) const { return (start + static_cast<std::ptrdiff_t>(tap) * by_tap) / divisor; }
  // The i-th tap in the order of the sources.
  constexpr std::size_t in_order(std::size_t i) const { return by_tap < 0 ? kernel - 1 - i : i; }
};

// The reach of an axis's taps: the least offset, the extent from there to the greatest, and the number of taps.
struct reach {
  std::ptrdiff_t least = 0;
  std::size_t extent = 0, taps = 0;

  constexpr explicit reach(const axis_walk& walk) {
    std::ptrdiff_t most = 0;
    for (std::size_t k = 0; k < walk.kernel; ++k) {
      if (!walk.takes(k)) continue;
      const std::ptrdiff_t at = walk.offset(k);
      least = taps == 0 ? at : std::min(least, at);
      most = taps == 0 ? at : std::max(most, at);
      ++taps;
    }
    extent = taps == 0 ? 0 : static_cast<std::size_t>(most - least) + 1;
  }
  // Whether the taps are side by side: then the sources of a row are one stretch of memory.
  constexpr bool is_dense() const { return taps == extent; }
  constexpr std::size_t sources(const axis_walk& walk, std::size_t results) const {
    return extent == 0 ? 0 : (results - 1) * walk.stride + extent;
  }
};

// Images of which some channels are read: a pixel has `channels` elements, and neighbouring pixels are `pixel` elements apart.
// With scales the channels are read through a norm and a ReLU.
template <class T>
struct channels_of {
  const T* data = nullptr;
  std::size_t pixel = 0, channels = 0;
  std::size_t height = 0, width = 0;
  channel_scales<accumulated<T>> scales{};
};

// Copies a rectangle of `rows` by `columns` pixels of one image to `to`, without gaps. It begins at (row, column), which may be
// outside the image; pixels that do not exist become zeros.
template <class T>
void fill_slab(accumulated<T>* to, const channels_of<T>& from, std::size_t image, std::ptrdiff_t row, std::size_t rows,
               std::ptrdiff_t column, std::size_t columns) {
  const auto clamped = [](std::ptrdiff_t value, std::size_t most) {
    return static_cast<std::size_t>(std::clamp(value, std::ptrdiff_t{0}, static_cast<std::ptrdiff_t>(most)));
  };
  // The pixels [before, end) of a row exist; the rest is zero.
  const std::size_t before = clamped(-column, columns);
  const std::size_t end = std::max(before, clamped(static_cast<std::ptrdiff_t>(from.width) - column, columns));
  const std::size_t depth = from.channels, pitch = columns * depth;
  for (std::size_t r = 0; r < rows; ++r, to += pitch) {
    const std::ptrdiff_t at = row + static_cast<std::ptrdiff_t>(r);
    if (at < 0 || at >= static_cast<std::ptrdiff_t>(from.height) || before == end) {
      std::memset(to, 0, pitch * sizeof(*to));
      continue;
    }
    std::memset(to, 0, before * depth * sizeof(*to));
    std::memset(to + end * depth, 0, (columns - end) * depth * sizeof(*to));
    const std::size_t first = static_cast<std::size_t>(column + static_cast<std::ptrdiff_t>(before));
    const T* pixel = from.data + ((image * from.height + static_cast<std::size_t>(at)) * from.width + first) * from.pixel;
    if (from.scales.mean != nullptr) {
      normalize_rows<T>({to + before * depth, end - before, depth}, {pixel, end - before, depth, from.pixel}, from.scales);
      continue;
    }
    if (from.pixel == depth) {
      copy_widened(to + before * depth, pixel, (end - before) * depth);
      continue;
    }
    for (std::size_t i = before; i < end; ++i, pixel += from.pixel) copy_widened(to + i * depth, pixel, depth);
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
