// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/activation.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// The operand of a product that is read with rows and columns exchanged.
enum class transpose : unsigned char { none, first, second };

// The operations on an element of a product before it is written, while it is still in a register. In this order:
//   v = (a x b)(i, j);  v += bias[j];  v = then(v);  v += addend(i, j);  v = mask(i, j) <= 0 ? 0 : v;
//   c(i, j) = v
// A GPU may add the addend before the bias where there is no activation.
template <class T>
struct epilogue {
  const T* bias = nullptr;            // (columns of c): added to every row
  activation then = activation::none; // applied after the bias
  matrix<const T> addend{};           // like c, or data null; may be c itself, on a GPU without activation
  matrix<const T> mask{};             // like c, or data null: the derivative of ReLU at its output
  accumulated<T>* row_sums = nullptr; // (rows of c): the sum of each row of op(a), over the reduction; a Linear's
                                      // bias gradient, which comes along with its weight gradient
  bool adds = false;                  // for 16-bit elements, if c is a sum that is kept in another type: it is added to c
};

// Overwrites c with the product of op(a) and op(b).
//
//   transpose::none     (m, n) = (m, k) x (k, n)      dx = dy x W  of a Linear, W being (out, in) as in torch
//   transpose::first    (m, n) = (k, m)^T x (k, n)     dW = dy^T x x
//   transpose::second   (m, n) = (m, k) x (n, k)^T     y  = x x W^T
//
// Rows may have any stride; c must not overlap a, b, the bias or the mask. k may be 0: the product is then zero.
//
// An element's bits depend on its operands alone. An element is a sum of chains of fused multiply-adds in ascending order of k,
// and the chains are added in ascending order too (see reduction.hpp). So its bits do not depend on its place in c, on the number
// of rows or threads of the call, or on what the epilogue does afterwards. A row sum consists of chains of additions, which are
// added in double (see sums.hpp).
//
// On a machine without fused multiply-add, or with a CBLAS instead of these kernels, the last bits of the product differ. They
// still do not depend on the number of threads, but with a CBLAS they may depend on the number of rows.
template <class T>
void matmul(detail::queue_without_this_op, matrix<T> c, std::type_identity_t<matrix<const T>> a,
            std::type_identity_t<matrix<const T>> b, transpose form, const std::type_identity_t<epilogue<T>>& then = {}) = delete;

// 16-bit elements are computed in float, with the whole epilogue, and rounded once. Of bfloat16 a step of a chain takes two
// elements of the reduction, from an even one on: it is fma(x0, y0, fma(x1, y1, chain)). Instructions for bfloat16 take subnormal
// numbers, and results that would be such, as zero. Processors with AMX have other bits: there a chain is 32 elements long, and
// is the sum of two, of the even elements and of the odd ones; see amx_bf16.hpp.
//
// For 16-bit elements c may also be a sum, which is kept in another type: the gradient of a weight. T is then the type of the
// operands, of the addend and of the mask.
template <detail::narrow_element T>
void matmul(detail::queue_without_this_op, matrix<accumulated<T>> c, matrix<const T> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept matmul_runs_on =
    requires(Queue& queue, matrix<T> y, matrix<accumulated<T>> sum, matrix<const T> x, const epilogue<T>& then) {
      matmul(queue, y, x, x, transpose::second, then);
      matmul(queue, sum, x, x, transpose::first, then);
    };

// Whether its products can read packed weights too.
template <class Queue, class T>
concept multiplies_by_packed = requires(Queue& queue, matrix<T> y, matrix<const T> x, packed_weight<T> packed,
                                        const epilogue<T>& then) { matmul(queue, y, x, x, packed, then); };

} // namespace cairn::detail
