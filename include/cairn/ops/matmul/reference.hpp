// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <cairn/core/view.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/checked_product.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/reduction.hpp>

namespace cairn::detail {

// The product as matmul.hpp documents it, one element after another: the oracle for every kernel. Kernels with fused multiply-add
// give these bits; others differ from them by rounding.
template <class T>
void matmul_reference(matrix<T> c, std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> b,
                      transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  const auto [m, n, k] = checked_product(c, a, b, form, then);
  const std::size_t block = reduction_block(k);
  const auto left = [&](std::size_t i, std::size_t p) { return form == transpose::first ? a(p, i) : a(i, p); };
  const auto right = [&](std::size_t p, std::size_t j) { return form == transpose::second ? b(j, p) : b(p, j); };
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      T sum = 0;
      for (std::size_t begin = 0; begin < k; begin += block) {
        const std::size_t end = std::min(k, begin + block);
        T of_block = 0;
        for (std::size_t first = begin; first < end; first += reduction_chain) {
          T chain = 0;
          for (std::size_t p = first; p < std::min(end, first + reduction_chain); ++p)
            chain = std::fma(left(i, p), right(p, j), chain);
          of_block = first == begin ? chain : of_block + chain;
        }
        sum = begin == 0 ? of_block : sum + of_block;
      }
      if (then.bias != nullptr) sum += then.bias[j];
      sum = activated(then.then, sum);
      if (then.addend.data != nullptr) sum += then.addend(i, j);
      if (then.mask.data != nullptr && then.mask(i, j) <= T{0}) sum = T{0};
      c(i, j) = sum;
    }
    if (then.row_sums != nullptr) {
      double sum = 0;
      for (std::size_t first = 0; first < k; first += sum_chain) {
        T chain = 0;
        for (std::size_t p = first; p < std::min(k, first + sum_chain); ++p) chain += left(i, p);
        sum += static_cast<double>(chain);
      }
      then.row_sums[i] = static_cast<T>(sum);
    }
  }
}

} // namespace cairn::detail
