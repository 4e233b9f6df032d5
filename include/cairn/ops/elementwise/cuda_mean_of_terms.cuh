// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn::detail {

template <class Term, class T>
struct term_of_loss {
  Term term;
  std::size_t count;
  bool aligned;
  const T *output, *targets;
  CAIRN_DEVICE void add(std::size_t q, T& sum) const {
    const std::size_t first = q * quad_width<T>;
    quad<T> y = load_quad(output, first, count, aligned);
    const quad<T> t = load_quad(targets, first, count, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j)
      if (first + j < count) term(y.at[j], t.at[j]), sum += y.at[j];
  }
};
struct store_mean {
  double* to;
  std::size_t count;
  CAIRN_DEVICE void operator()(double sum) const { *to = count == 0 ? 0 : sum / static_cast<double>(count); }
};

// As mean_of_terms() of a cpu, of the same function objects.
template <class T, class Term, class Derivative>
void mean_of_terms(cuda::queue& queue, const char* op, double* loss, T* output_gradient, std::size_t count, const T* output,
                   const T* targets, const Term& term, const Derivative& derivative) {
  const term_of_loss<Term, T> terms{term, count, are_quads(output, targets), output, targets};
  sum_then<T, T>(queue, op, count, terms, store_mean{loss, count});
  if (output_gradient != nullptr)
    elementwise(queue, op, count, derivative, std::array{output_gradient}, std::array{output, targets});
}

} // namespace cairn::detail
