// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/sums.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A loss that is the mean over elements of term(y, t), and its derivative by y, both as elementwise() takes functions:
// term leaves its value in y, and so does derivative, which knows the count. Terms are made in T, a piece that stays in
// the innermost cache at a time, and added up in double.
template <class T, class Term, class Derivative>
void mean_of_terms(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output, const T* targets,
                   const Term& term, const Derivative& derivative) {
  const instruction_set set = widest_for_elements();
  const double sum = sum_of_parts(queue, count, 4096, [&](std::size_t begin, std::size_t end, auto) {
    constexpr std::size_t piece = 1024;
    alignas(64) T terms[piece];
    double part = 0;
    for (std::size_t i = begin; i < end; i += piece) {
      const std::size_t length = std::min(piece, end - i);
      run_elements(set, term, length, std::array<T*, 1>{terms}, std::array{output + i, targets + i});
      const T* const own = terms;
      part += sum_in_lanes(length, [own](std::size_t j) __attribute__((always_inline)) { return static_cast<double>(own[j]); });
    }
    return part;
  });
  *loss = count == 0 ? 0 : sum / static_cast<double>(count);
  if (output_gradient != nullptr) elementwise(queue, count, derivative, std::array{output_gradient}, std::array{output, targets});
}

} // namespace cairn::detail

CAIRN_KERNELS_END
