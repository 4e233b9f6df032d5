// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/positions/cpu.hpp>
#include <cairn/ops/rotation/rotation.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct rotate_pair {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& a, T& b, T cosine, T sine) const {
    const T first = a * cosine - b * sine;
    b = b * cosine + a * sine;
    a = first;
  }
};

// Rotates `columns` pairs of one head in one row: their first elements, and their second ones.
template <class T>
void rotate_row(set_for_results<T> set, std::size_t columns, const std::array<T*, 2>& to, const std::array<const T*, 2>& from,
                const accumulated<T>* cosine, const accumulated<T>* sine) {
  run_mixed<T>(set, rotate_pair{}, columns, written{to[0], to[1]}, taken{from[0], from[1], cosine, sine});
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void rotate(cpu::queue& queue, const rotation& how, bool back, std::size_t samples, T* output,
            const std::type_identity_t<T>* input, std::size_t first_position = 0) {
  using wide = accumulated<T>;
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  const std::size_t half = how.turned / 2, strips = (half + detail::strip - 1) / detail::strip;
  const std::size_t groups = (how.length + detail::positions_of_part - 1) / detail::positions_of_part;
  queue.parallel_for(groups, [&](std::size_t part, auto) {
    const std::size_t first = part * detail::positions_of_part;
    const std::size_t end = std::min(how.length, first + detail::positions_of_part);
    if (output != input)
      for (std::size_t s = 0; s < samples; ++s)
        std::copy(input + (s * how.length + first) * how.columns, input + (s * how.length + end) * how.columns,
                  output + (s * how.length + first) * how.columns);
    for (std::size_t begin = 0; begin < strips * detail::strip; begin += detail::strip) {
      const std::size_t columns = std::min(detail::strip, half - begin);
      std::array<double, detail::strip> frequency{};
      alignas(64) wide cosine[detail::strip], sine[detail::strip];
      for (std::size_t i = 0; i < columns; ++i) frequency[i] = detail::frequency_of(how.base, begin + i, how.turned);
      for (std::size_t t = first; t < end; ++t) {
        for (std::size_t i = 0; i < columns; ++i) {
          const double angle = static_cast<double>(first_position + t) * frequency[i];
          cosine[i] = static_cast<wide>(std::cos(angle));
          sine[i] = static_cast<wide>(back ? -std::sin(angle) : std::sin(angle));
        }
        for (std::size_t s = 0; s < samples; ++s) {
          for (std::size_t head = 0; head < how.heads; ++head) {
            const std::size_t at = (s * how.length + t) * how.columns + head * how.width + begin;
            detail::rotate_row(set, columns, std::array<T*, 2>{output + at, output + at + half},
                               std::array<const T*, 2>{output + at, output + at + half}, cosine, sine);
          }
        }
      }
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
