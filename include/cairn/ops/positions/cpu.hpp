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
#include <cairn/ops/add/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/positions/positions.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Positions whose angles are found by one part of the work. Their frequencies are found once.
inline constexpr std::size_t positions_of_part = 8;

// Frequency i of a sequence's `columns`: base^(-2 i / columns).
inline double frequency_of(double base, std::size_t i, std::size_t columns) {
  return std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(columns));
}

// Writes strip [begin, begin + columns) of the sinusoids of one position.
template <class T>
void write_sinusoids(T* to, double position, std::size_t begin, std::size_t columns, const double* frequency) {
  for (std::size_t j = 0; j < columns; ++j) {
    const double angle = position * frequency[(begin + j) / 2 - begin / 2];
    to[j] = static_cast<T>((begin + j) % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void add_positions(cpu::queue& queue, std::size_t samples, std::size_t count, T* output, const std::type_identity_t<T>* input,
                   const std::type_identity_t<T>* table) {
  const detail::instruction_set set = detail::widest_for_elements();
  const std::size_t pieces = (count + detail::element_part - 1) / detail::element_part;
  const std::size_t together = std::max<std::size_t>(1, detail::element_part / std::max<std::size_t>(1, count)); // samples
  const std::size_t groups = (samples + together - 1) / together;
  queue.parallel_for(groups * pieces, [&](std::size_t part, auto) {
    const std::size_t first = part / pieces * together, begin = part % pieces * detail::element_part;
    const std::size_t length = std::min(detail::element_part, count - begin);
    for (std::size_t s = first; s < std::min(samples, first + together); ++s) {
      const std::size_t at = s * count + begin;
      detail::run_elements(set, detail::add_element{}, length, std::array{output + at},
                           std::array<const T*, 2>{input + at, table + begin});
    }
  });
}

template <class T>
void positions_gradient(cpu::queue& queue, std::size_t samples, std::size_t count, std::size_t whole, accumulated<T>* gradient,
                        const T* output_gradient) {
  using sum = accumulated<T>;
  const detail::instruction_set set = detail::widest_for_elements();
  detail::for_each_strip(queue, samples, count, [&](std::size_t begin, std::size_t columns) {
    detail::chained_sums<sum> sums;
    detail::widened_row<T> row;
    detail::start_sums(sums, columns);
    for (std::size_t from = 0; from < samples; from += detail::sum_chain) {
      detail::start_chain(sums, columns);
      for (std::size_t s = from; s < std::min(samples, from + detail::sum_chain); ++s)
        detail::add_row(sums.chain, row.read(output_gradient + s * count + begin, columns), columns);
      detail::end_chain(set, sums, columns);
    }
    for (std::size_t j = 0; j < columns; ++j) gradient[begin + j] = static_cast<sum>(sums.total[j]);
  });
  std::fill(gradient + count, gradient + whole, sum{0});
}

template <class T>
void add_sinusoids(cpu::queue& queue, std::size_t samples, std::size_t length, std::size_t width, T* output,
                   const std::type_identity_t<T>* input, std::size_t first_position = 0) {
  using sum = accumulated<T>;
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  const std::size_t strips = (width + detail::strip - 1) / detail::strip; // an even number of columns each, but for the last
  const std::size_t groups = (length + detail::positions_of_part - 1) / detail::positions_of_part;
  queue.parallel_for(groups * strips, [&](std::size_t part, auto) {
    const std::size_t first = part / strips * detail::positions_of_part, begin = part % strips * detail::strip;
    const std::size_t columns = std::min(detail::strip, width - begin);
    std::array<double, detail::strip / 2> frequency{};
    for (std::size_t i = 0; 2 * i < columns; ++i) frequency[i] = detail::frequency_of(10000, begin / 2 + i, width);
    alignas(64) sum table[detail::strip];
    for (std::size_t t = first; t < std::min(length, first + detail::positions_of_part); ++t) {
      detail::write_sinusoids(table, static_cast<double>(first_position + t), begin, columns, frequency.data());
      for (std::size_t s = 0; s < samples; ++s) {
        const std::size_t at = (s * length + t) * width + begin;
        detail::run_mixed<T>(set, detail::add_element{}, columns, detail::written{output + at},
                             detail::taken{input + at, &table[0]});
      }
    }
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
