// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/avx2.hpp>
#include <cairn/ops/matmul/avx512.hpp>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/matmul/multiply.hpp>
#include <cairn/ops/matmul/multiply_by_bytes.hpp>
#include <cairn/ops/matmul/multiply_by_packed.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/ops/matmul/plain.hpp>
#include <cairn/ops/matmul/product.hpp>
#if CAIRN_WITH_BLAS
#include <cairn/ops/matmul/blas.hpp>
#endif

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Work below this is done by the caller alone: waking a thread costs as much as a few hundred thousand
// operations.
inline constexpr std::size_t operations_worth_threads = 1'000'000;

// Computes `part` of a product with the kernels of one instruction set.
template <class T>
void multiply_for(instruction_set isa, const product<T>& whole, const rectangle& part, std::span<std::byte> scratch) {
#if CAIRN_X86
  if (isa == instruction_set::avx512) return multiply<avx512_kernels<T>>(whole, part, scratch);
  if (isa == instruction_set::avx2) return multiply<avx2_kernels<T>>(whole, part, scratch);
#else
  static_cast<void>(isa);
#endif
  multiply<plain_kernels<T>>(whole, part, scratch);
}

// Calls f(rectangle, scratch) for the parts of a product, which are cut along the longer side of c if it is long enough for all
// threads, else along the other. Each part packs what it shares with the others, and the longer side cut leaves the least to
// share. (Measured on a Xeon with two threads, 768 x 128 x 512: 1.9 times as fast as one, where cut by columns 1.5 times.)
template <class F>
void for_each_rectangle(cpu::queue& queue, const product_size& size, F&& f) {
  const std::size_t m = size.m;
  const std::size_t n = size.n;
  const std::size_t threads = 2 * m * n * size.k < operations_worth_threads ? 1 : queue.threads();
  const bool by_columns = n >= 64 * threads && (n > m || m < 64 * threads);
  const std::size_t extent = by_columns ? n : m;
  const std::size_t grain = by_columns ? 16 : 8;
  const std::size_t step = std::max<std::size_t>(1, (extent + threads * grain - 1) / (threads * grain)) * grain;
  const std::size_t parts = std::max<std::size_t>(1, (extent + step - 1) / step);
  queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t begin = part * step;
    const std::size_t end = std::min(extent, begin + step);
    f(by_columns ? rectangle{0, m, begin, end} : rectangle{begin, end, 0, n}, scratch);
  });
}

template <class T>
void multiply_on(cpu::queue& queue, instruction_set isa, const product<T>& whole) {
  for_each_rectangle(queue, whole.size,
                     [&](const rectangle& part, std::span<std::byte> scratch) { multiply_for(isa, whole, part, scratch); });
}

} // namespace cairn::detail

namespace cairn::ops {

// c = epilogue(op(a) x op(b)): see matmul.hpp.
template <class T>
void matmul(cpu::queue& queue, matrix<T> c, std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> b,
            transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  const detail::product<T> whole(c, a, b, form, then);
  const detail::instruction_set isa = detail::widest_instruction_set();
#if CAIRN_WITH_BLAS
  // By measurement, the kernels for AVX2 and AVX-512 are faster than a BLAS. The plain kernels, and all kernels that are not
  // optimised, are slower, except for products so small that the call costs more.
  if ((isa == detail::instruction_set::plain || !CAIRN_KERNELS_OPTIMIZED) &&
      2 * whole.size.m * whole.size.n * whole.size.k >= detail::operations_worth_blas)
    return detail::multiply_with_blas(queue, whole);
#endif
  detail::multiply_on(queue, isa, whole);
}

// c = epilogue(a x weight^T), for a weight that its owner has packed: with the same bits, for products of few rows; or as a
// weight of fewer bits, which has numbers of its own, for any number of rows.
template <std::floating_point T>
void matmul(cpu::queue& queue, matrix<T> c, std::type_identity_t<matrix<const T>> a, std::type_identity_t<matrix<const T>> weight,
            packed_weight<T> packed, const std::type_identity_t<epilogue<T>>& then = {}) {
  const detail::instruction_set isa = detail::widest_instruction_set();
  const bool is_narrow = packed.format != weight_format::own;
  if (!packed.replaces(weight.data) || then.row_sums != nullptr ||
      (!is_narrow && (c.rows > detail::most_rows_by_packed || !detail::reads_packed_weights(isa))))
    return matmul(queue, c, a, weight, transpose::second, then);
  const detail::product<T> whole(c, a, weight, transpose::second, then);
  const bool alone = 2 * whole.size.m * whole.size.n * whole.size.k < detail::operations_worth_threads;
  const std::size_t threads = alone ? 1 : queue.threads();
  if constexpr (std::is_same_v<T, float>)
    if (is_narrow) {
      if (packed.format == weight_format::int8) return detail::multiply_by_bytes(queue, isa, whole, packed.data, threads);
      return detail::multiply_by_pairs(queue, isa, whole, packed.data, threads);
    }
  detail::multiply_by_packed(queue, isa, whole, static_cast<const T*>(packed.data), threads);
}

// The scratch memory that matmul_in_part needs.
inline constexpr std::size_t matmul_scratch_bytes = 2_MiB;

// The same on the calling thread alone, with the same bits: for an op whose parts, which may not call parallel_for, need
// products. `scratch` is at least matmul_scratch_bytes of memory that is aligned to 64 bytes, such as the end of the part's own.
// Throws an error if it is smaller.
template <class T>
void matmul_in_part(std::span<std::byte> scratch, matrix<T> c, std::type_identity_t<matrix<const T>> a,
                    std::type_identity_t<matrix<const T>> b, transpose form, const std::type_identity_t<epilogue<T>>& then = {}) {
  if (scratch.size() < matmul_scratch_bytes) [[unlikely]]
    throw error("matmul_in_part: expected scratch memory of " + std::to_string(matmul_scratch_bytes) + " bytes, found " +
                std::to_string(scratch.size()) + "; leave the products more of the part's scratch");
  const detail::product<T> whole(c, a, b, form, then);
  detail::multiply_for(detail::widest_instruction_set(), whole, {0, whole.size.m, 0, whole.size.n}, scratch);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
