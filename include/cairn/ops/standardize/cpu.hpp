// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/standardize/formula.hpp>
#include <cairn/ops/standardize/standardize.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// f(value, the feature's values...) for each element of (rows, features). A row of few features is too short for vectors, so the
// features' values are repeated, and as many rows as fit are one piece of work.
template <class T, std::size_t Fixed, class F, std::size_t... K>
void for_each_feature(cpu::queue& queue, std::size_t rows, std::size_t features, const F& f, T* to, const T* from,
                      const std::array<const accumulated<T>*, Fixed>& of, std::index_sequence<K...>) {
  const std::size_t count = rows * features;
  if (count == 0) return;
  const set_for_results<T> set = widest_for_results<T>();
  alignas(64) accumulated<T> repeated[Fixed][strip] = {};
  std::array<const accumulated<T>*, Fixed> values = of;
  std::size_t piece = features;
  if (features <= strip / 2) {
    piece = strip / features * features;
    for (std::size_t k = 0; k < Fixed; ++k) {
      for (std::size_t j = 0; j < piece; ++j) repeated[k][j] = of[k][j % features];
      values[k] = repeated[k];
    }
  }
  for_each_row(queue, (count + piece - 1) / piece, piece, [&](std::size_t i) {
    const std::size_t first = i * piece;
    run_mixed<T>(set, f, std::min(piece, count - first), written{to + first}, taken{from + first, values[K]...});
  });
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void standardize(cpu::queue& queue, std::size_t rows, std::size_t features, T* output, const T* input, const accumulated<T>* mean,
                 const accumulated<T>* deviation) {
  detail::for_each_feature(queue, rows, features, detail::center_and_divide{}, output, input, std::array{mean, deviation},
                           std::make_index_sequence<2>());
}

template <class T>
void standardize_backward(cpu::queue& queue, std::size_t rows, std::size_t features, T* input_gradient, const T* output_gradient,
                          const accumulated<T>* deviation) {
  detail::for_each_feature(queue, rows, features, detail::divide_gradient{}, input_gradient, output_gradient,
                           std::array{deviation}, std::make_index_sequence<1>());
}

} // namespace cairn::ops

CAIRN_KERNELS_END
