// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

namespace detail {

template <class T>
struct add_share {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& sum, T x) const { sum += x * factor; }
};
template <class T>
struct scale_by {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& x) const { x *= factor; }
};

// The window of one output pixel of an image, and 1 / what its sum is divided by.
struct mean_window {
  mean_range y, x;
  double share = 0;

  CAIRN_HOST_DEVICE mean_window(const window& over, mean_of which, std::size_t output)
      : y(range_of(over.y, which, output / over.x.out)), x(range_of(over.x, which, output % over.x.out)) {
    const std::size_t divisor = y.divisor * x.divisor;
    share = divisor == 0 ? 0 : 1 / static_cast<double>(divisor);
  }
};

} // namespace detail

template <class T>
void avg_pool2d_forward(cpu::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                        T* output, const T* input) {
  const detail::instruction_set set = detail::widest_for_elements();
  const std::size_t each = std::max<std::size_t>(1, over.inputs() / std::max<std::size_t>(1, over.outputs()));
  detail::for_each_row(queue, samples * over.outputs(), channels * each, [&](std::size_t pixel) {
    const detail::mean_window of(over, which, pixel % over.outputs());
    const T* const image = input + pixel / over.outputs() * over.inputs() * channels;
    T* const sum = output + pixel * channels;
    std::fill_n(sum, channels, T{0});
    for (std::size_t row = of.y.begin; row < of.y.end; ++row)
      for (std::size_t column = of.x.begin; column < of.x.end; ++column)
        detail::run_elements(set, detail::add_share<T>{T{1}}, channels, std::array{sum},
                             std::array<const T*, 2>{sum, image + (row * over.x.in + column) * channels});
    detail::run_elements(set, detail::scale_by<T>{static_cast<T>(of.share)}, channels, std::array{sum},
                         std::array<const T*, 1>{sum});
  });
}

// Windows overlap, so that an image is cut over its channels only.
template <class T>
void avg_pool2d_backward(cpu::queue& queue, const window& over, mean_of which, std::size_t samples, std::size_t channels,
                         T* input_gradient, const T* output_gradient) {
  constexpr std::size_t most = 256; // channels at a time
  const detail::instruction_set set = detail::widest_for_elements();
  const std::size_t cuts = (channels + most - 1) / most;
  const auto work = [&](std::size_t part) {
    const std::size_t begin = part % cuts * most, count = std::min(most, channels - begin);
    T* const sums = input_gradient + part / cuts * over.inputs() * channels + begin;
    const T* gradient = output_gradient + part / cuts * over.outputs() * channels + begin;
    for (std::size_t pixel = 0; pixel < over.inputs(); ++pixel) std::fill_n(sums + pixel * channels, count, T{0});
    for (std::size_t pixel = 0; pixel < over.outputs(); ++pixel, gradient += channels) {
      const detail::mean_window of(over, which, pixel);
      const detail::add_share<T> f{static_cast<T>(of.share)};
      for (std::size_t row = of.y.begin; row < of.y.end; ++row)
        for (std::size_t column = of.x.begin; column < of.x.end; ++column) {
          T* const to = sums + (row * over.x.in + column) * channels;
          detail::run_elements(set, f, count, std::array{to}, std::array<const T*, 2>{to, gradient});
        }
    }
  };
  detail::for_each_row(queue, samples * cuts, over.inputs() * std::min(most, channels), work, detail::element_part);
}

} // namespace cairn

CAIRN_KERNELS_END
