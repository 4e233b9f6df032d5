// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>
#include <cairn/ops/bce_with_logits/cpu.hpp>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/mean_of_terms/cuda.cuh>

namespace cairn::detail {

template <class T>
struct weighted_logits {
  using wide = accumulated<T>;

  std::size_t count;
  divisor columns;
  bool aligned;
  const T* output;
  const wide *targets, *weights;

  // Applies f to each element of a quad, its target and its weight.
  template <class F>
  CAIRN_DEVICE wide_quad<T> made(std::size_t q, const F& f) const {
    const std::size_t first = q * quad_width<T>;
    wide_quad<T> y = load_wide(output, first, count, aligned);
    const wide_quad<T> t = load_sums<T>(targets, first, count, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j) {
      if (first + j >= count) continue;
      const std::size_t row = columns.of(first + j);
      f(y.at[j], t.at[j], weights[columns.rest(first + j, row)]);
    }
    return y;
  }
};
template <class T>
struct weighted_logit_terms : weighted_logits<T> {
  CAIRN_DEVICE void add(std::size_t q, accumulated<T>& sum) const {
    const wide_quad<T> terms = this->made(q, weighted_logit_error{});
    for (std::size_t j = 0; j < quad_width<T>; ++j)
      if (q * quad_width<T> + j < this->count) sum += terms.at[j];
  }
};
// One quad per thread; the gradient may lie on the output.
template <class T>
struct weighted_logit_gradients : weighted_logits<T> {
  T* gradient;
  with_gradient_scale<weighted_logit_error_derivative<accumulated<T>>, accumulated<T>> derivative;
  CAIRN_DEVICE void operator()(std::size_t q) const {
    store_wide(gradient, this->made(q, derivative.prepared()), q * quad_width<T>, this->count, this->aligned);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void bce_with_logits(cuda::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                     const accumulated<T>* targets, const accumulated<T>* positive_weights, std::size_t columns,
                     const double* gradient_scale = nullptr) {
  constexpr const char* op = "bce_with_logits";
  using namespace detail;
  const weighted_logits<T> all{count, columns, are_quads(output, targets), output, targets, positive_weights};
  sum_then<T, accumulated<T>>(queue, op, count, weighted_logit_terms<T>{all}, store_mean{loss, count});
  if (output_gradient == nullptr) return;
  weighted_logit_gradients<T> gradients{
      all,
      output_gradient,
      {{static_cast<accumulated<T>>(1.0 / static_cast<double>(count))}, static_cast<double>(count), gradient_scale}};
  gradients.aligned = gradients.aligned && are_quads(output_gradient);
  launch_each(queue, op, quads_for<T>(count), gradients);
}

} // namespace cairn::ops
