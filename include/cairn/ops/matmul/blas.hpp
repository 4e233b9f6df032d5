// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_BLAS
#error "ops/matmul/blas.hpp needs a CBLAS: link the CMake target cairn::blas, or compile with -DCAIRN_WITH_BLAS=1 -lopenblas"
#else

#include <algorithm>
#include <cstddef>
#include <span>

// OpenBLAS has a global type bfloat16, an integer: in a program that uses namespace cairn the name would be ambiguous.
#pragma push_macro("bfloat16")
#define bfloat16 bfloat16_of_openblas
#include <cblas.h>
#pragma pop_macro("bfloat16")

#include <cairn/device/cpu.hpp>
#include <cairn/ops/matmul/finish_row.hpp>
#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/plain.hpp>
#include <cairn/ops/matmul/product.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Below this a call of a BLAS costs more than the plain kernels.
inline constexpr std::size_t operations_worth_blas = 20'000;

// c is cut into squares of this size whatever the number of threads: how a BLAS rounds may depend on the
// extents.
inline constexpr std::size_t blas_square = 256;

// c(m, n) = op(a) x op(b), the rows of c being n apart: the two functions that a CBLAS has for it, as overloads.
inline CBLAS_TRANSPOSE blas_transpose(bool turned) { return turned ? CblasTrans : CblasNoTrans; }

inline void call_blas(CBLAS_TRANSPOSE form_a, CBLAS_TRANSPOSE form_b, int m, int n, int k, const float* a, int a_stride,
                      const float* b, int b_stride, float* c) {
  cblas_sgemm(CblasRowMajor, form_a, form_b, m, n, k, 1.0F, a, a_stride, b, b_stride, 0.0F, c, n);
}
inline void call_blas(CBLAS_TRANSPOSE form_a, CBLAS_TRANSPOSE form_b, int m, int n, int k, const double* a, int a_stride,
                      const double* b, int b_stride, double* c) {
  cblas_dgemm(CblasRowMajor, form_a, form_b, m, n, k, 1.0, a, a_stride, b, b_stride, 0.0, c, n);
}

// Computes one square of c in the scratch and finishes it from there, since the epilogue may still read c.
template <class T>
void multiply_with_blas(const product<T>& whole, const rectangle& part, std::span<std::byte> scratch) {
  static_assert(blas_square * blas_square * sizeof(T) <= cpu::queue::scratch_bytes);
  T* const sums = reinterpret_cast<T*>(scratch.data());
  const std::size_t columns = part.column_end - part.column_begin;
  const bool first = whole.form == transpose::first;
  const bool second = whole.form == transpose::second;
  call_blas(blas_transpose(first), blas_transpose(second), static_cast<int>(part.row_end - part.row_begin),
            static_cast<int>(columns), static_cast<int>(whole.size.k), whole.a + part.row_begin * whole.a_row,
            static_cast<int>(first ? whole.a_step : whole.a_row), whole.b + part.column_begin * whole.b_column,
            static_cast<int>(second ? whole.b_column : whole.b_step), sums);
  for (std::size_t i = part.row_begin; i < part.row_end; ++i)
    finish_row(whole, i, part.column_begin, columns, sums + (i - part.row_begin) * columns);
  if (whole.then.row_sums != nullptr && part.column_begin == 0) sum_rows<plain_kernels<T>>(whole, part.row_begin, part.row_end);
}

// Computes the whole product by a BLAS, one square per part.
template <class T>
void multiply_with_blas(cpu::queue& queue, const product<T>& whole) {
  const std::size_t across = (whole.size.n + blas_square - 1) / blas_square;
  const std::size_t down = (whole.size.m + blas_square - 1) / blas_square;
  queue.parallel_for(across * down, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t i = part / across * blas_square;
    const std::size_t j = part % across * blas_square;
    multiply_with_blas(whole, {i, std::min(whole.size.m, i + blas_square), j, std::min(whole.size.n, j + blas_square)}, scratch);
  });
}

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
