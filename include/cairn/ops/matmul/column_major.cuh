// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn::detail {

// A product in cuBLASLt's terms, as plain data: d = op(a) x op(b) of column-major matrices, element (r, c) at c * ld + r.
// Operands of 16 bits may have a result in float, the type C.
//
// Our rows, `stride` apart, are the columns of such a matrix, the transposed one. So our c = op(a) x op(b) is computed as c^T =
// op(b)^T x op(a)^T: d is c, a is our b, b is our a. (cuBLASLt's own row-major order is no alternative: it then has no bias.)
//
//   form       ours                    op of their a = our b    op of their b = our a
//   none       (m, k) x (k, n)         none                     none
//   first      (k, m)^T x (k, n)       none                     transposed
//   second     (m, k) x (n, k)^T       transposed               none
template <class T, class C = T>
struct product_call {
  std::size_t m = 0, n = 0, k = 0; // d is (m, n)
  bool transposes_a = false, transposes_b = false;
  std::size_t lda = 0, ldb = 0, ldd = 0;
  const T *a = nullptr, *b = nullptr;
  C* d = nullptr;
  // v = (op(a) x op(b))(r, c);  v += addend(r, c);  v += bias[r];  relu: v = v < 0 ? 0 : v;  d(r, c) = v
  const C* addend = nullptr; // laid out like d
  const T* bias = nullptr;
  bool relu = false;
  T* sums = nullptr; // (n): of each column of op(b) over k

  bool operator==(const product_call&) const = default;
};

template <class T, class C>
constexpr product_call<T, C> column_major_of(matrix<C> c, std::type_identity_t<matrix<const T>> a,
                                             std::type_identity_t<matrix<const T>> b, transpose form) {
  product_call<T, C> call;
  call.m = c.columns;
  call.n = c.rows;
  call.k = form == transpose::first ? a.rows : a.columns;
  call.transposes_a = form == transpose::second;
  call.transposes_b = form == transpose::first;
  call.lda = b.stride;
  call.ldb = a.stride;
  call.ldd = c.stride;
  call.a = b.data;
  call.b = a.data;
  call.d = c.data;
  return call;
}
template <class T>
constexpr product_call<T> column_major(matrix<T> c, std::type_identity_t<matrix<const T>> a,
                                       std::type_identity_t<matrix<const T>> b, transpose form) {
  return column_major_of<T, T>(c, a, b, form);
}

// Whether an algorithm that was chosen for one address also serves the other.
template <class T>
constexpr bool are_aligned_alike(const T* x, const T* y) {
  if (std::is_constant_evaluated()) return true; // where there are no addresses
  return (reinterpret_cast<std::uintptr_t>(x) - reinterpret_cast<std::uintptr_t>(y)) % 16 == 0;
}

// With 16 bits what the library does is rounded once, and what a kernel adds is rounded again. Which of both does it is a
// constant of the layer, and a ReLU may come before or after the rounding.
//
// Moves the parts of the epilogue that the library can do into the call, and leaves in `then` those that kernels do after it.
// With `fuses` the library takes the richest epilogue that this form has: bias and ReLU in a forward pass (second), the row sums
// in a weight gradient (first). What is moved depends on the layer and on how its tensors lie, never on their values.
template <class T>
constexpr void take_epilogue(product_call<T>& call, transpose form, epilogue<T>& then, bool fuses) {
  // The library adds the addend before the bias and ReLU, while `epilogue` adds it after them. Without ReLU only the rounding of
  // a sum of three differs, so the library makes the first sum, whoever adds the bias; the addend may then be the result itself.
  // Row sums are not combined with an addend. A head in strips has both, and adds to the result itself: a kernel makes its sums.
  const bool in_place = then.addend.data != nullptr && then.addend.data == call.d;
  if (then.then == activation::none && (then.row_sums == nullptr || in_place) && then.addend.data != nullptr &&
      then.addend.stride == call.ldd && are_aligned_alike<T>(then.addend.data, call.d)) {
    call.addend = then.addend.data;
    then.addend = {};
  }
  if (!fuses) return;
  if (form == transpose::second) {
    call.bias = then.bias;
    call.relu = then.then == activation::relu;
    then.bias = nullptr;
    then.then = activation::none;
  }
  if (!is_narrow<T> && form == transpose::first && then.row_sums != nullptr && call.addend == nullptr) {
    if constexpr (!is_narrow<T>) call.sums = then.row_sums;
    then.row_sums = nullptr;
  }
}

} // namespace cairn::detail
