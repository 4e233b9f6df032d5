// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
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
  const T* output;
  const accumulated<T>* targets;
  CAIRN_DEVICE void add(std::size_t q, accumulated<T>& sum) const {
    const std::size_t first = q * quad_width<T>;
    const wide_quad<T> y = load_wide(output, first, count, aligned), t = load_sums<T>(targets, first, count, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j)
      if (first + j < count) sum += static_cast<accumulated<T>>(term(y.at[j], t.at[j]));
  }
};
// The gradient where outputs have 16 bits and targets do not. A quad a thread.
template <class Derivative, class T>
struct gradient_of_loss {
  Derivative derivative;
  std::size_t count;
  bool aligned;
  T* gradient;
  const T* output;
  const accumulated<T>* targets;
  CAIRN_DEVICE void operator()(std::size_t q) const {
    const std::size_t first = q * quad_width<T>;
    const auto own = prepared(derivative);
    wide_quad<T> y = load_wide(output, first, count, aligned);
    const wide_quad<T> t = load_sums<T>(targets, first, count, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j) own(y.at[j], t.at[j]);
    store_wide(gradient, y, first, count, aligned);
  }
};
// A derivative times a scale that only the GPU knows. A thread reads it once.
template <class Made, class T>
struct with_gradient_scale {
  Made made; // with a scale of 1
  double count;
  const double* scale; // null: 1
  CAIRN_DEVICE Made prepared() const {
    Made own = made;
    if (scale != nullptr) own.share = static_cast<T>(*scale / count);
    return own;
  }
};
struct store_mean {
  double* to;
  std::size_t count;
  CAIRN_DEVICE void operator()(double sum) const { *to = count == 0 ? 0 : sum / static_cast<double>(count); }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T, class Term, class Derivative>
void mean_of_terms(cuda::queue& queue, double* loss, T* output_gradient, std::size_t count, const T* output,
                   const accumulated<T>* targets, const Term& term, const Derivative& derivative,
                   const double* gradient_scale = nullptr) {
  const char* op = "mean_of_terms";
  if constexpr (requires { Term::name; }) op = Term::name; // as in error messages
  const detail::term_of_loss<Term, T> terms{term, count, detail::are_quads(output, targets), output, targets};
  detail::sum_then<T, accumulated<T>>(queue, op, count, terms, detail::store_mean{loss, count});
  if (output_gradient == nullptr) return;
  using wide = accumulated<T>;
  using made_type = detail::share_of_derivative<wide, Derivative>;
  const made_type made = detail::over_count<wide>(derivative, count);
  const detail::with_gradient_scale<made_type, wide> scaled{made, static_cast<double>(count), gradient_scale};
  if constexpr (!detail::is_narrow<T>) {
    detail::elementwise(queue, op, count, scaled, std::array{output_gradient}, std::array{output, targets});
  } else {
    const bool aligned = detail::are_quads(output_gradient, output, targets);
    detail::launch_each(queue, op, detail::quads_for<T>(count),
                        detail::gradient_of_loss<detail::with_gradient_scale<made_type, wide>, T>{
                            scaled, count, aligned, output_gradient, output, targets});
  }
}

} // namespace cairn::ops
