// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/avx2.hpp>
#include <cairn/ops/matmul/avx512.hpp>
#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// More rows than these repay that a weight is packed in each call: packing takes a twentieth of the time.
inline constexpr std::size_t most_rows_by_packed = 64;

// The order of a packed weight: its slivers one after another, each with the whole reduction. A sliver that is narrower than its
// registers has no padding, so that the packed weight is as large as the weight, and its last sliver is read with a mask.
template <class Kernels, class T>
void pack_weight(T* to, matrix<const T> weight) {
  const std::size_t k = weight.columns;
  for (std::size_t j = 0, columns = 0; j < weight.rows; j += columns) {
    columns = Kernels::sliver_columns(weight.rows - j);
    T* const at = to + j * k;
    const T* const from = weight.data + j * weight.stride;
    if (Kernels::packed_width(columns) == columns) Kernels::pack_transposed(at, columns, from, weight.stride, columns, k);
    else
      for (std::size_t p = 0; p < k; ++p)
        for (std::size_t i = 0; i < columns; ++i) at[p * columns + i] = from[i * weight.stride + p];
  }
}

// The columns [begin, end) of c, where `begin` is the first one of a sliver. An element has the bits that it has in multiply().
template <class Kernels, class T>
void multiply_by_packed(const product<T>& whole, const T* packed, std::size_t begin, std::size_t end,
                        std::span<std::byte> scratch) {
  const std::size_t k = whole.size.k, block = reduction_block(k);
  const bool carries = k > block, carry_in_c = whole.then.addend.data == nullptr;
  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.a_row = whole.a_row;
  s.a_step = whole.a_step;
  s.row_end = whole.size.m;
  s.carry_row = carry_in_c ? whole.c.stride : Kernels::widest;
  for (std::size_t j = begin; j < end; j += s.columns) {
    s.column = j;
    s.columns = Kernels::sliver_columns(whole.size.n - j);
    s.b_step = s.columns;
    if (carries) s.carry = carry_in_c ? &whole.c(0, j) : reinterpret_cast<T*>(scratch.data());
    std::size_t p = 0;
    do { // at least once: the product over nothing is zero
      s.depth = std::min(block, k - p);
      s.reads_carry = p != 0;
      s.writes_carry = p + s.depth < k;
      s.a = whole.a + p * whole.a_step;
      s.b = packed + j * k + p * s.columns;
      Kernels::rows(s);
      p += s.depth;
    } while (p < k);
  }
}

// Whether the kernels of this instruction set read packed weights. The plain ones need padding, and a BLAS has its own order.
constexpr bool reads_packed_weights(instruction_set isa) { return CAIRN_KERNELS_OPTIMIZED && isa != instruction_set::plain; }

// Calls f(kernels) with those of an instruction set that reads packed weights.
template <class T, class F>
void with_kernels_of_packed([[maybe_unused]] instruction_set isa, [[maybe_unused]] const F& f) {
#if CAIRN_X86
  if (isa == instruction_set::avx512) return f(avx512_kernels<T>{});
  f(avx2_kernels<T>{});
#endif
}

template <class T>
void pack_weight(instruction_set isa, T* to, matrix<const T> weight) {
  with_kernels_of_packed<T>(isa, [&]<class Kernels>(Kernels) { pack_weight<Kernels>(to, weight); });
}

// c = epilogue(a x b^T) for at most most_rows_by_packed rows, cut between slivers among the queue's threads.
template <class T>
void multiply_by_packed(cpu::queue& queue, instruction_set isa, const product<T>& whole, const T* packed, std::size_t threads) {
  with_kernels_of_packed<T>(isa, [&]<class Kernels>(Kernels) {
    const std::size_t n = whole.size.n, slivers = (n + Kernels::widest - 1) / Kernels::widest;
    const std::size_t each = std::max<std::size_t>(1, (slivers + threads - 1) / threads), parts = (slivers + each - 1) / each;
    queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
      const std::size_t begin = part * each * Kernels::widest;
      multiply_by_packed<Kernels>(whole, packed, begin, std::min(n, begin + each * Kernels::widest), scratch);
    });
  });
}

} // namespace cairn::detail

CAIRN_KERNELS_END
