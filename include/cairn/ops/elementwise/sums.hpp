// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Sums over rows, one for each column, are taken in chains of sum_chain rows. A chain starts from zero in the type of the
// elements. The chains are added in double, in ascending order, and the total is rounded. One chain of floats over a million rows
// is off by 1e-2, chains of 16 by at most 3e-7; adding each row in double would cost half as much again. Sums of up to 16 rows
// have the bits of one chain.
inline constexpr std::size_t sum_chain = 16;

// A sum over many items is taken in at most this many parts, whose sums are then added in order. How the
// items are cut depends on their number alone, so the bits do not depend on the number of threads, and
// nothing is allocated.
inline constexpr std::size_t sum_parts = 128;

// The sum of term(i) over [0, count): 32 sums side by side, which are added in the end. That is faster than one sum, as an
// addition need not wait for the one before it, and more accurate. A term that is a lambda must be always_inline: in a template,
// g++ does not optimise a lambda if the program is not optimised; see config.hpp.
template <class Term>
double sum_in_lanes(std::size_t count, const Term& term) {
  constexpr std::size_t width = 32;
  double lanes[width] = {};
  std::size_t i = 0;
  for (; i + width <= count; i += width)
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] += term(i + lane);
  for (std::size_t lane = 0; i + lane < count; ++lane) lanes[lane] += term(i + lane);
  // In pairs: 5 additions one after another. 32 would take most of the time of a short row.
  for (std::size_t half = width / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

// The sum of part(begin, end, scratch), which returns a double, over all parts of [0, items). Parts have a multiple of `grain`
// items, except the last.
template <class Part>
double sum_of_parts(cpu::queue& queue, std::size_t items, std::size_t grain, Part&& part) {
  if (items == 0) return 0;
  const std::size_t grains = (items + grain - 1) / grain;
  const std::size_t length = (grains + sum_parts - 1) / sum_parts * grain;
  const std::size_t parts = (items + length - 1) / length;
  std::array<double, sum_parts> sums{};
  queue.parallel_for(parts, [&](std::size_t index, auto scratch) {
    sums[index] = part(index * length, std::min(items, (index + 1) * length), scratch);
  });
  double sum = 0;
  for (std::size_t index = 0; index < parts; ++index) sum += sums[index];
  return sum;
}

} // namespace cairn::detail

CAIRN_KERNELS_END
