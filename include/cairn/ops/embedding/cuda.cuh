// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/embedding/embedding.hpp>

namespace cairn {

namespace detail {

CAIRN_DEVICE inline bool is_in_vocabulary(std::int32_t index, std::size_t vocabulary) {
  return index >= 0 && static_cast<std::size_t>(index) < vocabulary;
}

// One element each.
template <class T>
struct look_up {
  std::size_t vocabulary, width;
  T* output;
  const T* weight;
  const std::int32_t* indices;

  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::int32_t index = indices[at / width];
    // Nobody could be told in time of an index that is none: what comes out of it is no number, so that it is seen.
    output[at] = is_in_vocabulary(index, vocabulary) ? weight[static_cast<std::size_t>(index) * width + at % width]
                                                     : static_cast<T>(__builtin_nanf(""));
  }
};
template <class T>
struct fill_with_zeros {
  T* to;
  CAIRN_DEVICE void operator()(std::size_t i) const { to[i] = T{0}; }
};
// The sum for one word, made at the place where it comes first: it looks ahead for all the others, in their order.
template <class T>
struct sum_of_word {
  std::size_t count, vocabulary, width;
  T* weight_gradient;
  const T* output_gradient;
  const std::int32_t* indices;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t place) const {
    const std::int32_t word = indices[place];
    if (!is_in_vocabulary(word, vocabulary)) return;
    const unsigned before = team.sum(place, [&](std::size_t i) { return indices[i] == word ? 1U : 0U; });
    if (before != 0) return;
    team.each(width, [&](std::size_t column) {
      double sum = 0;
      for (std::size_t i = place; i < count; ++i)
        if (indices[i] == word) sum += static_cast<double>(output_gradient[i * width + column]);
      weight_gradient[static_cast<std::size_t>(word) * width + column] = static_cast<T>(sum);
    });
  }
};

} // namespace detail

// An index that the weight has no row for makes a row of NaN here, and throws on a cpu.
template <std::floating_point T>
void embedding_forward(cuda::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width, T* output,
                       const T* weight, const std::int32_t* indices) {
  detail::launch_each(queue, "embedding_forward", count * width, detail::look_up<T>{vocabulary, width, output, weight, indices});
}

template <std::floating_point T>
void embedding_backward(cuda::queue& queue, std::size_t count, std::size_t vocabulary, std::size_t width, T* weight_gradient,
                        const T* output_gradient, const std::int32_t* indices) {
  constexpr const char* op = "embedding_backward";
  detail::launch_each(queue, op, vocabulary * width, detail::fill_with_zeros<T>{weight_gradient});
  detail::launch_teams_for(width, queue, op, count,
                           detail::sum_of_word<T>{count, vocabulary, width, weight_gradient, output_gradient, indices});
}

} // namespace cairn
