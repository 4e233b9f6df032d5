// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/channel_statistics/columns.hpp>
#include <cairn/ops/channel_statistics/reference.hpp>
#include <cairn/ops/normalized_product/normalized_product.hpp>

CAIRN_KERNELS_BEGIN

// Follows the formulas, in double: for elements of any type, and for comparison with the tiled version.
namespace cairn::detail {

template <class T>
void normalized_product_forward_reference(matrix<T> h, accumulated<T>* statistics, matrix<const T> x, const channel_norm<T>& norm,
                                          const T* weight) {
  for (std::size_t r = 0; r < h.rows; ++r)
    for (std::size_t o = 0; o < h.columns; ++o) {
      double sum = 0;
      for (std::size_t c = 0; c < x.columns; ++c) {
        const double y = normalized(norm, c, static_cast<double>(x(r, c)));
        sum += (y < 0 ? 0 : y) * static_cast<double>(weight[o * x.columns + c]);
      }
      h(r, o) = static_cast<T>(static_cast<accumulated<T>>(sum));
    }
  if (statistics != nullptr) channel_statistics_reference<T>(h, statistics);
}

template <class T>
void normalized_product_backward_reference(const normalized_product_gradients<T>& gradients, matrix<const T> h_gradient,
                                           matrix<const T> h, const accumulated<T>* h_statistics,
                                           const accumulated<T>* h_statistics_gradient, matrix<const T> x,
                                           const channel_norm<T>& norm, const T* weight) {
  const auto rows = static_cast<double>(x.rows);
  const auto dh = [&](std::size_t r, std::size_t o) {
    double sum = h_gradient.data == nullptr ? 0 : static_cast<double>(h_gradient(r, o));
    if (h_statistics_gradient != nullptr)
      sum += (static_cast<double>(h_statistics_gradient[2 * o]) +
              2 * static_cast<double>(h_statistics_gradient[2 * o + 1]) *
                  (static_cast<double>(h(r, o)) - static_cast<double>(h_statistics[2 * o]))) /
             rows;
    return sum;
  };
  for (std::size_t c = 0; c < x.columns; ++c) {
    for (std::size_t o = 0; gradients.weight != nullptr && o < h.columns; ++o) {
      double sum = 0;
      for (std::size_t r = 0; r < x.rows; ++r) {
        const double y = normalized(norm, c, static_cast<double>(x(r, c)));
        sum += dh(r, o) * (y < 0 ? 0 : y);
      }
      gradients.weight[o * x.columns + c] = static_cast<accumulated<T>>(sum);
    }
    const double factor =
        static_cast<double>(norm.weight[c]) / std::sqrt(static_cast<double>(norm.variance[norm.step * c]) + norm.eps);
    double sum = 0, products = 0;
    for (std::size_t r = 0; r < x.rows; ++r) {
      double m = 0;
      for (std::size_t o = 0; o < h.columns; ++o) m += dh(r, o) * static_cast<double>(weight[o * x.columns + c]);
      if (normalized(norm, c, static_cast<double>(x(r, c))) <= 0) m = 0;
      sum += m;
      products += m * (static_cast<double>(x(r, c)) - static_cast<double>(norm.mean[norm.step * c]));
      if (gradients.x.data == nullptr) continue;
      const double before = gradients.addend.data == nullptr ? 0 : static_cast<double>(gradients.addend(r, c));
      gradients.x(r, c) = static_cast<T>(static_cast<accumulated<T>>(before + factor * m));
    }
    norm_gradients(sum, products, norm, c, gradients.norm_weight, gradients.norm_bias, gradients.statistics);
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
