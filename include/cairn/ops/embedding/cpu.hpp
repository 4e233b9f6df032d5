// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/embedding/embedding.hpp>

namespace cairn {

template <class T>
void embedding_forward(cpu::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width,
                       T* output, const T* weight, const std::int32_t* indices) {
  detail::check_indices(indices, count, vocabulary);
  detail::for_each_row(
      queue, count, width,
      [&](std::size_t i) {
        std::copy_n(weight + static_cast<std::size_t>(indices[i]) * width, width, output + i * width);
      },
      detail::element_part);
}

// The sums are cut over columns, so that every part adds rows in the same order. Cut over the vocabulary, the parts would
// have as different an amount of work as words differ in how often they are used.
template <class T>
void embedding_backward(cpu::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width,
                        accumulated<T>* weight_gradient, const T* output_gradient,
                        const std::int32_t* indices) {
  using sum = accumulated<T>;
  detail::for_each_row(
      queue, vocabulary, width,
      [&](std::size_t v) { std::fill_n(weight_gradient + v * width, width, sum{0}); }, detail::element_part);
  detail::for_each_strip(queue, count, width, [&](std::size_t begin, std::size_t columns) {
    for (std::size_t i = 0; i < count; ++i) {
      sum* const to = weight_gradient + static_cast<std::size_t>(indices[i]) * width + begin;
      const T* const from = output_gradient + i * width + begin;
      for (std::size_t j = 0; j < columns; ++j) to[j] += static_cast<sum>(from[j]);
    }
  });
}

} // namespace cairn
