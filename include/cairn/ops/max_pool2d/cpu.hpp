// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/input_tiles.hpp>
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

// The outputs [begin, end) along an axis of which some tap may read one of the inputs [first, last).
struct outputs_of_tap {
  std::size_t begin = 0, end = 0;

  constexpr outputs_of_tap(const window_axis& a, std::size_t first, std::size_t last)
      : begin(first + a.padding < a.extent() ? 0 : (first + a.padding - a.extent()) / a.stride + 1),
        end(first < last ? std::min(a.out, (last - 1 + a.padding) / a.stride + 1) : 0) {}
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void max_pool2d_forward(cpu::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* output,
                        const T* input) {
  using wide = accumulated<T>;
  constexpr std::size_t most = detail::is_narrow<T> ? detail::strip : static_cast<std::size_t>(-1); // channels at a time
  const detail::instruction_set set = detail::widest_for_elements();
  detail::for_each_row(queue, samples * over.outputs(), channels * over.taps(), [&](std::size_t pixel) {
    const T* const image = input + pixel / over.outputs() * over.inputs() * channels;
    for (std::size_t begin = 0, count = 0; begin < channels; begin += count) {
      count = std::min(most, channels - begin);
      detail::widened_row<T> greatest;
      T* const to = output + pixel * channels + begin;
      wide* const best = greatest.room(to);
      bool first = true;
      detail::for_each_tap(over, pixel % over.outputs(), [&](std::size_t, std::size_t from) {
        const T* const values = image + from * channels + begin;
        if (first) detail::copy_widened(best, values, count);
        else detail::run_mixed<T>(set, detail::take_greater{}, count, detail::written{best}, detail::taken{best, values});
        first = false;
      });
      if (first) std::fill_n(best, count, -std::numeric_limits<wide>::infinity());
      greatest.write(to, count);
    }
  });
}

// Windows overlap, so the work on an image is divided by channels only.
template <class T>
void max_pool2d_backward(cpu::queue& queue, const window& over, std::size_t samples, std::size_t channels, T* input_gradient,
                         const T* output_gradient, const T* input) {
  using wide = accumulated<T>;
  constexpr std::size_t most = 256; // channels at a time
  const detail::instruction_set set = detail::widest_for_elements();
  const std::size_t cuts = (channels + most - 1) / most;
  const auto work = [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t begin = part % cuts * most, count = std::min(most, channels - begin);
    const T* const image = input + part / cuts * over.inputs() * channels + begin;
    T* const gradients = input_gradient + part / cuts * over.inputs() * channels + begin;
    alignas(64) wide best[most], place[most];
    detail::widened_row<T, most> read;
    detail::for_each_input_tile(over, channels, count, gradients, scratch, [&](const detail::input_tile<wide>& tile) {
      const detail::outputs_of_tap rows(over.y, tile.row_begin, tile.row_end);
      const detail::outputs_of_tap columns(over.x, tile.column_begin, tile.column_end);
      for (std::size_t p = rows.begin; p < rows.end; ++p)
        for (std::size_t q = columns.begin; q < columns.end; ++q) {
          const std::size_t pixel = p * over.x.out + q;
          bool first = true;
          detail::for_each_tap(over, pixel, [&](std::size_t tap, std::size_t from) {
            const T* const values = image + from * channels;
            if (first) {
              detail::copy_widened(&best[0], values, count);
              std::fill_n(place, count, static_cast<wide>(tap));
            } else
              detail::run_mixed<T>(set, detail::take_place<wide>{static_cast<wide>(tap)}, count,
                                   detail::written{&best[0], &place[0]}, detail::taken{&best[0], &place[0], values});
            first = false;
          });
          const wide* const gradient =
              read.read(output_gradient + (part / cuts * over.outputs() + pixel) * channels + begin, count);
          detail::for_each_tap(over, pixel, [&](std::size_t tap, std::size_t from) {
            if (!tile.has(from / over.x.in, from % over.x.in)) return;
            wide* const to = tile.at(from / over.x.in, from % over.x.in);
            detail::run_elements(set, detail::add_where_taken<wide>{static_cast<wide>(tap)}, count, std::array<wide*, 1>{to},
                                 std::array<const wide*, 3>{to, gradient, place});
          });
        }
    });
  };
  detail::for_each_stretch_of_rows(
      queue, samples * cuts, over.inputs() * std::min(most, channels),
      [&](std::size_t begin, std::size_t end, std::span<std::byte> scratch) {
        for (std::size_t part = begin; part < end; ++part) work(part, scratch);
      },
      detail::element_part);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
