// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/avx2.hpp>
#include <cairn/ops/matmul/avx512.hpp>
#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/multiply_by_bytes.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/reduction.hpp>
#include <cairn/ops/matmul/widened_pairs.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// More rows than these repay that a weight is packed in each call: packing takes a twentieth of the time.
inline constexpr std::size_t most_rows_by_packed = 64;

// The words that a row of a packed weight takes, of k elements.
template <class Kernels>
constexpr std::size_t words_of_packed(std::size_t k) {
  return (k + Kernels::in_word - 1) / Kernels::in_word;
}

// A sliver of a packed weight, of these columns.
template <class Kernels, class T>
void pack_sliver(T* to, std::size_t columns, const T* from, std::size_t stride, std::size_t k) {
  if (Kernels::packed_width(columns) == columns) Kernels::pack_transposed(to, columns, from, stride, columns, k);
  else
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t i = 0; i < columns; ++i) to[p * columns + i] = from[i * stride + p];
}

// The order of a packed weight: its slivers one after another, each with the whole reduction. A sliver that is narrower than its
// registers has no padding, so that the packed weight is as large as the weight, and its last sliver is read with a mask.
template <class Kernels, class T>
void pack_weight(T* to, matrix<const T> weight) {
  const std::size_t k = weight.columns, words = words_of_packed<Kernels>(k);
  for (std::size_t j = 0, columns = 0; j < weight.rows; j += columns) {
    columns = Kernels::sliver_columns(weight.rows - j);
    T* const at = to + j * words;
    if constexpr (Kernels::in_word == 2) pack_pairs(at, columns, weight, j);
    else pack_sliver<Kernels>(at, columns, weight.data + j * weight.stride, weight.stride, k);
  }
}

// Rows that are multiplied with a sliver before the next one comes. Weights of bfloat16 may have any number, as nothing else has
// their numbers; of these rows a second-level cache holds as many as are taken at a time.
struct rows_by_packed {
  std::size_t first, end;
};

// Some rows, and the columns [begin, end) of c, where `begin` is the first one of a sliver. An element has the bits that it has
// in multiply().
template <class Kernels, class T>
void multiply_by_packed(const product<T>& whole, const T* packed, const rows_by_packed& rows, std::size_t begin, std::size_t end,
                        std::span<std::byte> scratch) {
  const std::size_t k = whole.size.k, words = words_of_packed<Kernels>(k), block = reduction_block(k);
  const bool carries = k > block, carry_in_c = whole.then.addend.data == nullptr;
  alignas(64) T before[tile_bytes / sizeof(T)];
  sliver<T> s;
  s.whole = &whole;
  s.before = before;
  s.a_row = whole.a_row;
  s.a_step = whole.a_step;
  s.row_begin = rows.first;
  s.row_end = rows.end;
  s.carry_row = carry_in_c ? whole.c.stride : 2 * Kernels::widest;
  const bool is_one_row = rows.end - rows.first == 1;
  for (std::size_t j = begin, taken = 0; j < end; j += taken) {
    s.column = j;
    s.columns = Kernels::sliver_columns(whole.size.n - j);
    const bool are_two = is_one_row && end - j >= 2 * Kernels::widest;
    taken = are_two ? 2 * s.columns : s.columns;
    s.b_next = s.columns * words;
    s.b_step = s.columns;
    if (carries) s.carry = carry_in_c ? &whole.c(rows.first, j) : reinterpret_cast<T*>(scratch.data());
    std::size_t p = 0;
    do { // at least once: the product over nothing is zero
      s.depth = std::min(block, k - p);
      s.reads_carry = p != 0;
      s.writes_carry = p + s.depth < k;
      s.a = whole.a + rows.first * whole.a_row + p * whole.a_step;
      s.b = packed + j * words + p / Kernels::in_word * s.columns;
      if (are_two) Kernels::row_of_two(s);
      else Kernels::rows(s);
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

// The same for weights of bfloat16.
template <class F>
void with_kernels_of_pairs([[maybe_unused]] instruction_set isa, const F& f) {
#if CAIRN_X86 && CAIRN_KERNELS_OPTIMIZED
  if (isa >= instruction_set::avx512) return f(avx512_kernels<float, avx512_pair_register>{});
  if (isa >= instruction_set::avx2) return f(avx2_kernels<float, avx2_pair_register>{});
#endif
  f(plain_pair_kernels{});
}

// c = epilogue(a x b^T), cut between slivers among the queue's threads.
template <class Kernels, class T>
void multiply_by_packed(cpu::queue& queue, const product<T>& whole, const T* packed, std::size_t threads) {
  const std::size_t n = whole.size.n, m = whole.size.m, slivers = (n + Kernels::widest - 1) / Kernels::widest;
  const std::size_t each = std::max<std::size_t>(1, (slivers + threads - 1) / threads), parts = (slivers + each - 1) / each;
  const std::size_t at_once =
      std::max<std::size_t>(most_rows_by_packed, 256 * 1024 / sizeof(T) / std::max<std::size_t>(1, whole.size.k));
  queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t begin = part * each * Kernels::widest;
    for (std::size_t first = 0; first < m; first += at_once)
      multiply_by_packed<Kernels>(whole, packed, {first, std::min(m, first + at_once)}, begin,
                                  std::min(n, begin + each * Kernels::widest), scratch);
  });
}
// For at most most_rows_by_packed rows.
template <class T>
void multiply_by_packed(cpu::queue& queue, instruction_set isa, const product<T>& whole, const T* packed, std::size_t threads) {
  with_kernels_of_packed<T>(isa, [&]<class Kernels>(Kernels) { multiply_by_packed<Kernels>(queue, whole, packed, threads); });
}

// The same with weights of bfloat16, for any number of rows.
template <class T>
void multiply_by_pairs(cpu::queue& queue, [[maybe_unused]] instruction_set isa, const product<T>& whole, const void* packed,
                       std::size_t threads) {
  const auto* const words = static_cast<const T*>(packed);
  with_kernels_of_pairs(isa, [&]<class Kernels>(Kernels) { multiply_by_packed<Kernels>(queue, whole, words, threads); });
}

// Writes a weight as the kernels of the machine read it, in packed_bytes() bytes. Weights of double have the format `own` alone.
template <class T>
void pack_weight(instruction_set isa, ops::weight_format format, void* to, matrix<const T> weight) {
  if constexpr (std::is_same_v<T, float>) {
    if (format == ops::weight_format::int8) return pack_bytes(isa, to, weight);
    if (format == ops::weight_format::bfloat16)
      return with_kernels_of_pairs(isa, [&]<class Kernels>(Kernels) { pack_weight<Kernels>(static_cast<T*>(to), weight); });
  }
  with_kernels_of_packed<T>(isa, [&]<class Kernels>(Kernels) { pack_weight<Kernels>(static_cast<T*>(to), weight); });
}
template <class T>
constexpr std::size_t packed_bytes(ops::weight_format format, std::size_t rows, std::size_t columns) {
  if (format == ops::weight_format::int8) return weight_in_bytes::bytes(rows, columns);
  return rows * (format == ops::weight_format::bfloat16 ? (columns + 1) / 2 : columns) * sizeof(T);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
