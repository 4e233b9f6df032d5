// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>

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

// The loop of sum_in_lanes(). Its sums are named vectors of four, which g++ and clang++ offer on every machine: of an array g++
// makes single numbers with -O3, and memory with -O2.
template <class Term>
[[gnu::always_inline]] inline double sum_in_lanes_of(std::size_t count, const Term& term) {
  typedef double four __attribute__((vector_size(32)));
  constexpr std::size_t width = 32;
  four a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
  four v[8];
  double terms[width];
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    for (std::size_t lane = 0; lane < width; ++lane) terms[lane] = term(i + lane);
    __builtin_memcpy(v, terms, sizeof v);
    a += v[0], b += v[1], c += v[2], d += v[3], e += v[4], f += v[5], g += v[6], h += v[7];
  }
  if (i < count) {
    const four sums[8] = {a, b, c, d, e, f, g, h};
    __builtin_memcpy(terms, sums, sizeof terms);
    for (std::size_t lane = 0; i + lane < count; ++lane) terms[lane] += term(i + lane);
    __builtin_memcpy(v, terms, sizeof v);
    a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
  }
  // In pairs: 5 additions one after another. 32 would take most of the time of a short row.
  const four sum = ((a + e) + (c + g)) + ((b + f) + (d + h));
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// Without fused operations, which would change the bits: a term that is a product is rounded before it is added.
#if CAIRN_X86
template <class Term>
[[gnu::noinline]] __attribute__((target("avx2"))) double sum_in_lanes_avx2(std::size_t count, const Term& term) {
  return sum_in_lanes_of(count, term);
}
#endif

// The sum of term(i) over [0, count): 32 sums side by side, which are added in the end. That is faster than one sum, as an
// addition need not wait for the one before it, and more accurate. A term that is a lambda must be always_inline: in a template,
// g++ does not optimise a lambda if the program is not optimised; see config.hpp.
template <class Term>
double sum_in_lanes(std::size_t count, const Term& term) {
#if CAIRN_X86
  if (widest_instruction_set() != instruction_set::plain) return sum_in_lanes_avx2(count, term);
#endif
  return sum_in_lanes_of(count, term);
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
