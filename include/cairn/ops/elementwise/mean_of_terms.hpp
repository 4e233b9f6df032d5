// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
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

// The same of an output whose sums are kept in another type, which is the type of the targets: terms are made in that type,
// and the derivative is rounded once.
template <narrow_element T, class F>
void run_with_targets(instruction_set set, const F& f, std::size_t count, accumulated<T>* results, const T* output,
                      const accumulated<T>* targets) {
  using wide = accumulated<T>;
  for (std::size_t i = 0; i < count; ++i) results[i] = static_cast<wide>(output[i]);
  run_elements(set, f, count, std::array<wide*, 1>{results}, std::array<const wide*, 2>{results, targets});
}
template <narrow_element T, class Term, class Derivative>
void mean_of_terms(cpu::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                   const accumulated<T>* targets, const Term& term, const Derivative& derivative) {
  using wide = accumulated<T>;
  constexpr std::size_t piece = 1024;
  const instruction_set set = widest_for_elements();
  const double sum = sum_of_parts(queue, count, 4096, [&](std::size_t begin, std::size_t end, auto) {
    alignas(64) wide terms[piece];
    double part = 0;
    for (std::size_t i = begin; i < end; i += piece) {
      const std::size_t length = std::min(piece, end - i);
      run_with_targets(set, term, length, terms, output + i, targets + i);
      for (std::size_t j = 0; j < length; ++j) part += static_cast<double>(terms[j]);
    }
    return part;
  });
  *loss = count == 0 ? 0 : sum / static_cast<double>(count);
  if (output_gradient == nullptr) return;
  queue.parallel_for((count + piece - 1) / piece, [&](std::size_t index, auto) {
    alignas(64) wide made[piece];
    const std::size_t begin = index * piece, length = std::min(piece, count - begin);
    run_with_targets(set, derivative, length, made, output + begin, targets + begin);
    for (std::size_t j = 0; j < length; ++j) output_gradient[begin + j] = static_cast<T>(made[j]);
  });
}

} // namespace cairn::detail

CAIRN_KERNELS_END
