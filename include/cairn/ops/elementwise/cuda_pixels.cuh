// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/window.hpp>

namespace cairn::detail {

// Finds a thread's share of images: one quad of the channels of one pixel.
template <class T>
struct quad_of_pixel {
  std::size_t channels;
  divisor quads, columns, pixels; // in a pixel, in a row, in an image
  bool aligned;

  quad_of_pixel(std::size_t width, std::size_t height, std::size_t of_channels, bool are_aligned)
      : channels(of_channels), quads(quads_for<T>(of_channels)), columns(width), pixels(width * height), aligned(are_aligned) {}

  struct place {
    std::size_t image, row, column, pixel, channel; // the pixel is counted through all images
  };
  CAIRN_DEVICE place at(std::size_t index) const {
    const std::size_t pixel = quads.of(index), image = pixels.of(pixel);
    const std::size_t own = pixels.rest(pixel, image), row = columns.of(own);
    return {image, row, columns.rest(own, row), pixel, quads.rest(index, pixel) * quad_width<T>};
  }
  CAIRN_DEVICE wide_quad<T> load(const T* images, std::size_t pixel, std::size_t channel) const {
    return load_wide(images + pixel * channels, channel, channels, aligned);
  }
  CAIRN_DEVICE void store(T* images, const wide_quad<T>& v, std::size_t pixel, std::size_t channel) const {
    store_wide(images + pixel * channels, v, channel, channels, aligned);
  }
};
template <class T>
quad_of_pixel<T> quads_of_outputs(const window& over, std::size_t channels, bool aligned) {
  return {over.x.out, over.y.out, channels, aligned};
}
template <class T>
quad_of_pixel<T> quads_of_inputs(const window& over, std::size_t channels, bool aligned) {
  return {over.x.in, over.y.in, channels, aligned};
}

// Finds the output along an axis whose tap reads an input. If there is none, the result is at least axis.out.
struct readers_of_axis {
  window_axis axis;
  divisor stride;

  readers_of_axis(const window_axis& a) : axis(a), stride(a.stride) {}

  CAIRN_DEVICE std::size_t at(std::size_t input, std::size_t tap) const {
    const std::size_t place = input + axis.padding, before = tap * axis.dilation;
    if (place < before) return axis.out;
    const std::size_t output = stride.of(place - before);
    return stride.rest(place - before, output) != 0 ? axis.out : output;
  }
};

} // namespace cairn::detail
