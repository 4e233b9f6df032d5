// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/narrow_product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

namespace cairn::detail {

// The product as matmul.hpp documents it, one element after another: the oracle for every kernel. Kernels with fused multiply-add
// give these bits; others differ from them by rounding. Of 16-bit elements, which are computed in the type of their sums, c may
// be a sum.
template <class T, class C>
void matmul_reference_of(matrix<C> c, matrix<const T> a, matrix<const T> b, transpose form, const epilogue<T>& then) {
  using wide = accumulated<T>;
  const narrow_product<T, C> whole(c, a, b, form, then);
  const auto [m, n, k] = whole.size;
  const std::size_t block = reduction_block(k);
  const auto left = [&](std::size_t i, std::size_t p) { return static_cast<wide>(form == transpose::first ? a(p, i) : a(i, p)); };
  const auto right = [&](std::size_t p, std::size_t j) {
    return static_cast<wide>(form == transpose::second ? b(j, p) : b(p, j));
  };
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      wide sum = 0;
      for (std::size_t begin = 0; begin < k; begin += block) {
        const std::size_t end = std::min(k, begin + block);
        wide of_block = 0;
        for (std::size_t first = begin; first < end; first += reduction_chain) {
          wide chain = 0;
          const std::size_t last = std::min(end, first + reduction_chain);
          for (std::size_t step = first; step < last; ++step) {
            const std::size_t p = reduces_in_pairs<T> && (step ^ 1U) < last ? step ^ 1U : step;
            chain = std::fma(left(i, p), right(p, j), chain);
          }
          of_block = first == begin ? chain : of_block + chain;
        }
        sum = begin == 0 ? of_block : sum + of_block;
      }
      c(i, j) = static_cast<C>(narrow_result(whole, i, j, sum));
    }
    if (then.row_sums != nullptr) {
      double sum = 0;
      for (std::size_t first = 0; first < k; first += sum_chain) {
        wide chain = 0;
        for (std::size_t p = first; p < std::min(k, first + sum_chain); ++p) chain += left(i, p);
        sum += static_cast<double>(chain);
      }
      then.row_sums[i] = static_cast<wide>(sum);
    }
  }
}
template <class T>
void matmul_reference(matrix<T> c, std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> b,
                      transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  matmul_reference_of<T>(c, a, b, form, then);
}

} // namespace cairn::detail
