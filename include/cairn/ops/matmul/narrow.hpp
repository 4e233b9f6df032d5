// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/sums.hpp>
#include <cairn/ops/matmul/checked_product.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The product of 16-bit elements, as matmul.hpp documents it: one element after another, computed in the type that sums are kept
// in, with the chains that this type's own product has, and rounded once, when it is written. Its purpose is to be right; a
// device with arithmetic for such elements has a fast one.
template <class C, narrow_element T>
void narrow_product(cpu::queue& queue, matrix<C> c, matrix<const T> a, matrix<const T> b, transpose form,
                    const epilogue<T>& then) {
  using wide = accumulated<T>;
  const product_size size = checked_product(c, a, b, form, then);
  const std::size_t block = reduction_block(size.k);
  const auto left = [&](std::size_t i, std::size_t p) { return static_cast<wide>(form == transpose::first ? a(p, i) : a(i, p)); };
  const auto right = [&](std::size_t p, std::size_t j) {
    return static_cast<wide>(form == transpose::second ? b(j, p) : b(p, j));
  };
  const auto element = [&](std::size_t i, std::size_t j) {
    wide sum = 0;
    for (std::size_t begin = 0; begin < size.k; begin += block) {
      const std::size_t end = std::min(size.k, begin + block);
      wide of_block = 0;
      for (std::size_t first = begin; first < end; first += reduction_chain) {
        wide chain = 0;
        for (std::size_t p = first; p < std::min(end, first + reduction_chain); ++p)
          chain = std::fma(left(i, p), right(p, j), chain);
        of_block = first == begin ? chain : of_block + chain;
      }
      sum = begin == 0 ? of_block : sum + of_block;
    }
    if (then.bias != nullptr) sum += static_cast<wide>(then.bias[j]);
    sum = activated(then.then, sum);
    if (then.addend.data != nullptr) sum += static_cast<wide>(then.addend(i, j));
    if (then.mask.data != nullptr && static_cast<wide>(then.mask(i, j)) <= wide{0}) sum = wide{0};
    return sum;
  };
  for_each_row(queue, size.m, size.n * std::max<std::size_t>(1, size.k), [&](std::size_t i) {
    for (std::size_t j = 0; j < size.n; ++j) {
      const wide v = element(i, j);
      c(i, j) = static_cast<C>(then.adds ? static_cast<wide>(c(i, j)) + v : v);
    }
    if (then.row_sums == nullptr) return;
    double sum = 0;
    for (std::size_t first = 0; first < size.k; first += sum_chain) {
      wide chain = 0;
      for (std::size_t p = first; p < std::min(size.k, first + sum_chain); ++p) chain += left(i, p);
      sum += static_cast<double>(chain);
    }
    then.row_sums[i] = static_cast<wide>(sum);
  });
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::narrow_element T>
void matmul(cpu::queue& queue, matrix<T> c, std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  detail::narrow_product(queue, c, a, b, form, then);
}
template <detail::narrow_element T>
void matmul(cpu::queue& queue, matrix<accumulated<T>> c, matrix<const T> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  detail::narrow_product(queue, c, a, b, form, then);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
