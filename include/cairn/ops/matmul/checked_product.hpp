// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/alike.hpp>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn::detail {

struct product_size {
  std::size_t m = 0, n = 0, k = 0;
};

// Returns the extents of a product. Throws an error that names the extents that do not fit.
template <class C, class T>
product_size checked_product(matrix<C> c, matrix<const T> a, matrix<const T> b, transpose form, const epilogue<T>& then) {
  const bool first = form == transpose::first;
  const bool second = form == transpose::second;
  const product_size size{c.rows, c.columns, first ? a.rows : a.columns};
  const bool fits = (first ? a.columns : a.rows) == size.m && (second ? b.rows : b.columns) == size.n &&
                    (second ? b.columns : b.rows) == size.k;
  const auto like_c = [&](matrix<const T> other) {
    return other.data == nullptr || (other.rows == size.m && other.columns == size.n);
  };
  if (fits && like_c(then.addend) && like_c(then.mask)) [[likely]]
    return size;
  if (!fits)
    throw error("matmul: the extents do not fit: c " + extents(c.rows, c.columns) + " = a " + extents(a.rows, a.columns) +
                (first ? "^T" : "") + " x b " + extents(b.rows, b.columns) + (second ? "^T" : "") +
                "; give matrices (m, n) = (m, k) x (k, n)");
  const matrix<const T> wrong = like_c(then.addend) ? then.mask : then.addend;
  throw error(std::string("matmul: the epilogue's ") + (like_c(then.addend) ? "mask" : "addend") + " is " +
              extents(wrong.rows, wrong.columns) + " but c is " + extents(size.m, size.n) + "; they must be alike");
}

} // namespace cairn::detail
