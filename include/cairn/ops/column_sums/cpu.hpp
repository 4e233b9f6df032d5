// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/add/cpu.hpp>
#include <cairn/ops/column_sums/column_sums.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

namespace cairn {

namespace detail {

// Sums over rows are cut into strips of this many columns: a strip of sums stays in the innermost cache, and
// a row of a strip is long enough for the memory to be read in order.
inline constexpr std::size_t strip = 512;

// f(begin, columns) for every strip.
template <class F>
void for_each_strip(cpu::queue& queue, std::size_t columns, F&& f) {
  queue.parallel_for((columns + strip - 1) / strip, [&](std::size_t part, auto) {
    f(part * strip, std::min(strip, columns - part * strip));
  });
}

} // namespace detail

template <class T>
void column_sums(cpu::queue& queue, T* sums, std::type_identity_t<matrix<const T>> x) {
  const instruction_set set = detail::widest_for_elements();
  detail::for_each_strip(queue, x.columns, [&](std::size_t begin, std::size_t columns) {
    T* const sum = sums + begin;
    std::fill(sum, sum + columns, T{0});
    for (std::size_t row = 0; row < x.rows; ++row)
      detail::run_elements(set, detail::add_element{}, columns, std::array{sum},
                           std::array<const T*, 2>{sum, &x(row, begin)});
  });
}

} // namespace cairn
