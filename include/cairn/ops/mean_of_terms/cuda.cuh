// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/ops/elementwise/cuda.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/mean_of_terms/cpu.hpp>
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>

namespace cairn::detail {

template <class Term, class T>
struct term_of_loss {
  Term term;
  std::size_t count;
  bool aligned;
  const T *output, *targets;
  CAIRN_DEVICE void add(std::size_t q, T& sum) const {
    const std::size_t first = q * quad_width<T>;
    const quad<T> y = load_quad(output, first, count, aligned);
    const quad<T> t = load_quad(targets, first, count, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j)
      if (first + j < count) sum += static_cast<T>(term(y.at[j], t.at[j]));
  }
};
struct store_mean {
  double* to;
  std::size_t count;
  CAIRN_DEVICE void operator()(double sum) const { *to = count == 0 ? 0 : sum / static_cast<double>(count); }
};

} // namespace cairn::detail

namespace cairn::ops {

template <std::floating_point T, class Term, class Derivative>
void mean_of_terms(cuda::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output, const T* targets,
                   const Term& term, const Derivative& derivative) {
  const char* op = "mean_of_terms";
  if constexpr (requires { Term::name; }) op = Term::name; // as in error messages
  const detail::term_of_loss<Term, T> terms{term, count, detail::are_quads(output, targets), output, targets};
  detail::sum_then<T, T>(queue, op, count, terms, detail::store_mean{loss, count});
  if (output_gradient != nullptr)
    detail::elementwise(queue, op, count, detail::over_count<T>(derivative, count), std::array{output_gradient},
                        std::array{output, targets});
}

} // namespace cairn::ops
