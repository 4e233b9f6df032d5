// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>

namespace cairn::detail {

// The taps of a window along one axis, as a result sees them that is gathered from a source: result u of a class reads source
// scale u + offset + tap step, for tap in [0, taps), where that is below `extent`; numbers below 0 wrap around. It is element
// start + u apart of its axis, and the tap is tap first + tap period of the weight.
//
// An output is gathered from inputs, and there is one class. An input gradient is gathered from output gradients: with a stride
// there is a class for each remainder of the input by the stride, as only every so many taps reach it.
struct taps_of_axis {
  std::uint32_t scale, offset, step, extent, taps, first, period, start, apart;
};
// An axis in 32 bits.
struct small_axis {
  std::uint32_t in, out, kernel, stride, padding, dilation;
  std::uint32_t period; // of the taps that read an input

  explicit small_axis(const window_axis& a)
      : in(static_cast<std::uint32_t>(a.in)), out(static_cast<std::uint32_t>(a.out)),
        kernel(static_cast<std::uint32_t>(a.kernel)), stride(static_cast<std::uint32_t>(a.stride)),
        padding(static_cast<std::uint32_t>(a.padding)), dilation(static_cast<std::uint32_t>(a.dilation)),
        period(static_cast<std::uint32_t>(a.stride / std::gcd(a.stride, a.dilation))) {}

  // The number of inputs with remainder 0, which no other remainder exceeds.
  std::uint32_t results_of_class() const { return (in + stride - 1) / stride; }
  CAIRN_HOST_DEVICE taps_of_axis of_outputs() const { return {stride, 0 - padding, dilation, in, kernel, 0, 1, 0, 1}; }
  // The inputs with this remainder by the stride.
  CAIRN_HOST_DEVICE taps_of_axis of_inputs(std::uint32_t remainder) const {
    const std::uint32_t place = remainder + padding;
    std::uint32_t first = 0;
    while (first < period && (place + first * (stride - dilation % stride)) % stride != 0) ++first;
    const std::uint32_t taps = first < period && first < kernel ? (kernel - first - 1) / period + 1 : 0;
    const std::uint32_t before = first * dilation, step = period * dilation / stride;
    const std::uint32_t offset = place >= before ? (place - before) / stride : 0 - (before - place) / stride;
    return {1, offset, 0 - step, out, taps, first, period, remainder, stride};
  }
};

// A place in the sum of an element of a convolution: a tap of each axis, and a channel, which are counted in this order. Channels
// are filled up to whole quads, with zeros.
struct place_of_product {
  std::uint32_t y, x, channel;

  CAIRN_DEVICE void move(std::uint32_t by, std::uint32_t channels, std::uint32_t taps_of_row) {
    channel += by;
    while (channel >= channels) {
      channel -= channels;
      if (++x == taps_of_row) x = 0, ++y;
    }
  }
};

// A row or column that no source has, however far a tap is from it.
inline constexpr std::uint32_t nowhere = 0x80000000;

// Quads here are those of sums: as many channels as 16 bytes of the type of sums hold.

// The number of channels, filled up to whole quads.
template <class T>
std::uint32_t in_quads(std::size_t channels) {
  return static_cast<std::uint32_t>(quads_for<accumulated<T>>(channels) * quad_width<accumulated<T>>);
}

// Keeps a number in a register: the compiler computes it once and not wherever it is used.
CAIRN_DEVICE inline void keep([[maybe_unused]] std::uint32_t& number) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(number));
#endif
}

// The element that is n times `bytes` behind another one.
template <class T>
CAIRN_DEVICE const T* behind(const T* first, std::uint32_t n, std::uint32_t bytes) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + std::size_t{n} * bytes);
}

// Loads a quad of channels at each address at(n), n < Loads, for which has(n) holds; the others are 0, and so are channels behind
// the first count(n) at the address, which are at least 1. `aligned` is for channels in whole quads.
template <unsigned Loads, class T, class Has, class At, class Count>
CAIRN_DEVICE void load_channels(part_of_quad<T> (&to)[Loads], bool aligned, const Has& has, const At& at, const Count& count) {
  CAIRN_UNROLL_DEVICE
  for (unsigned n = 0; n < Loads; ++n) to[n] = {};
  if (aligned) {
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < Loads; ++n)
      if (has(n)) to[n] = *reinterpret_cast<const part_of_quad<T>*>(at(n));
  } else {
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < Loads; ++n)
      if (has(n)) {
        const T* const from = at(n);
        CAIRN_UNROLL_DEVICE
        for (std::uint32_t j = 0; j < quad_width<accumulated<T>>; ++j)
          if (j < count(n)) to[n].at[j] = from[j];
      }
  }
}

// The kernels of convolutions count pixels and weights, and the bytes from a pixel to the next, in 32 bits.
inline void check_convolution(const char* op, const convolution& how, std::size_t samples, std::size_t stride) {
  const auto check = [&](std::size_t found, std::size_t most, const char* what, const char* then) {
    if (found >= most)
      throw error("cuda, " + std::string(op) + ": expected fewer than " + std::to_string(most) + what + ", found " +
                  std::to_string(found) + then);
  };
  constexpr std::size_t pixels = std::size_t{1} << 30, elements = std::size_t{1} << 28;
  check(samples * how.over.inputs(), pixels, " input pixels", "; give fewer images at a time");
  check(samples * how.over.outputs(), pixels, " output pixels", "; give fewer images at a time");
  check(how.in_channels, elements, " input channels", "; cut the layer into several");
  check(stride, elements, " elements from a pixel of the output to the next", "; cut the layer into several");
  check(how.out_channels * how.over.taps() * (how.group_in() + 3), pixels, " weights", "; cut the layer into several");
}

} // namespace cairn::detail
