// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/max_pool2d/max_pool2d.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Whether a value replaces the greatest so far.
template <class T>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline bool is_greater(T value, T best) {
  return static_cast<int>(value > best) | static_cast<int>(value != value);
}

struct take_greater {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& best, T value) const {
    best = blend(is_greater(value, best), value, best);
  }
};

// The number of the tap is kept as a T, which holds such small integers exactly.
template <class T>
struct take_place {
  T tap;
  [[gnu::always_inline]] inline void operator()(T& best, T& place, T value) const {
    const bool taken = is_greater(value, best);
    place = blend(taken, tap, place);
    best = blend(taken, value, best);
  }
};

template <class T>
struct add_where_taken {
  T tap;
  [[gnu::always_inline]] inline void operator()(T& sum, T gradient, T place) const { sum += blend(place == tap, gradient, T{0}); }
};

// Calls f(tap, input pixel), in order, for the taps of an output's window that lie inside the image. Pixels are counted within
// one image.
template <class F>
void for_each_tap(const window& over, std::size_t output, F&& f) {
  for (std::size_t i = 0; i < over.y.kernel; ++i) {
    const std::size_t row = over.y.input(output / over.x.out, i);
    for (std::size_t j = 0; row < over.y.in && j < over.x.kernel; ++j) {
      const std::size_t column = over.x.input(output % over.x.out, j);
      if (column < over.x.in) f(i * over.x.kernel + j, row * over.x.in + column);
    }
  }
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void max_pool2d_forward(cpu::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* output,
                        const T* input) {
  const detail::instruction_set set = detail::widest_for_elements();
  detail::for_each_row(queue, samples * over.outputs(), channels * over.taps(), [&](std::size_t pixel) {
    const T* const image = input + pixel / over.outputs() * over.inputs() * channels;
    T* const best = output + pixel * channels;
    bool first = true;
    detail::for_each_tap(over, pixel % over.outputs(), [&](std::size_t, std::size_t from) {
      const T* const values = image + from * channels;
      if (first) std::copy_n(values, channels, best);
      else detail::run_elements(set, detail::take_greater{}, channels, std::array{best}, std::array<const T*, 2>{best, values});
      first = false;
    });
    if (first) std::fill_n(best, channels, static_cast<T>(-std::numeric_limits<accumulated<T>>::infinity()));
  });
}

// Windows overlap, so the work on an image is divided by channels only.
template <class T>
void max_pool2d_backward(cpu::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* input_gradient,
                         const T* output_gradient, const T* input) {
  constexpr std::size_t most = 256; // channels at a time
  const detail::instruction_set set = detail::widest_for_elements();
  const std::size_t cuts = (channels + most - 1) / most;
  const auto work = [&](std::size_t part) {
    const std::size_t begin = part % cuts * most, count = std::min(most, channels - begin);
    const T* const image = input + part / cuts * over.inputs() * channels + begin;
    T* const sums = input_gradient + part / cuts * over.inputs() * channels + begin;
    for (std::size_t pixel = 0; pixel < over.inputs(); ++pixel) std::fill_n(sums + pixel * channels, count, T{0});
    alignas(64) T best[most], place[most];
    for (std::size_t pixel = 0; pixel < over.outputs(); ++pixel) {
      bool first = true;
      detail::for_each_tap(over, pixel, [&](std::size_t tap, std::size_t from) {
        const T* const values = image + from * channels;
        if (first) {
          std::copy_n(values, count, best);
          std::fill_n(place, count, static_cast<T>(tap));
        } else
          detail::run_elements(set, detail::take_place<T>{static_cast<T>(tap)}, count, std::array<T*, 2>{best, place},
                               std::array<const T*, 3>{best, place, values});
        first = false;
      });
      const T* const gradient = output_gradient + (part / cuts * over.outputs() + pixel) * channels + begin;
      detail::for_each_tap(over, pixel, [&](std::size_t tap, std::size_t from) {
        T* const to = sums + from * channels;
        detail::run_elements(set, detail::add_where_taken<T>{static_cast<T>(tap)}, count, std::array{to},
                             std::array<const T*, 3>{to, gradient, place});
      });
    }
  };
  detail::for_each_row(queue, samples * cuts, over.inputs() * std::min(most, channels), work, detail::element_part);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
