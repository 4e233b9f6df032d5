// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn::detail {

template <class Term, class T>
struct term_of_loss {
  Term term;
  const T *output, *targets;
  CAIRN_DEVICE double operator()(std::size_t i) const {
    T y = output[i];
    term(y, targets[i]);
    return static_cast<double>(y);
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
  sum_then(queue, op, count, term_of_loss<Term, T>{term, output, targets}, store_mean{loss, count});
  if (output_gradient != nullptr)
    elementwise(queue, op, count, derivative, std::array{output_gradient}, std::array{output, targets});
}

} // namespace cairn::detail
