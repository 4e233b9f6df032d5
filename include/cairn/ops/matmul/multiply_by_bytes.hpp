// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/matmul/bytes_avx2.hpp>
#include <cairn/ops/matmul/bytes_avx512.hpp>
#include <cairn/ops/matmul/bytes_plain.hpp>
#include <cairn/ops/matmul/finish_row.hpp>
#include <cairn/ops/matmul/product.hpp>
#include <cairn/ops/matmul/weight_in_bytes.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Products by weights of one byte, whose sums are exact. A row of a becomes integers of 24 bits, the float of its largest
// element being the unit: x = step * X, where step is a power of two and |X| < 2^23. That rounds as float does relative to the
// row's largest element. The sum of X times the weight's integers is an integer, computed without rounding, so that it does not
// depend on the order of the sum, nor on the instruction set. It is rounded once, after it was multiplied by step and the
// scale of the weight's row:
//
//   c[i, j] = epilogue(float(step[i] * scale[j] * sum over p of X[i, p] * W[j, p]))
//
// A row with an element that is not finite has sums that are NaN.
//
// Kernels take X as 24 bits without a sign, X + 2^23, in digits that their instructions multiply: 2^23 times the sum of the
// weight's row is subtracted at the end.
struct row_in_integers {
  float step; // NaN where an element is not finite

  // Writes the digits of a row of k elements, for the kernels' groups of 4.
  template <class Kernels>
  static row_in_integers write(std::byte* digits, const float* x, std::size_t k) {
    std::uint32_t largest = 0; // the bits of floats without a sign are in the order of the numbers, NaN last
    Kernels::find_largest(largest, x, k);
    if (largest >= 0x7F800000U) {
      std::memset(digits, 0, (k + 3) / 4 * Kernels::digit_bytes);
      return {std::bit_cast<float>(0x7FC00000U)};
    }
    const int exponent = std::max(static_cast<int>(largest >> 23) - 126, -100); // every element is below 2^exponent
    Kernels::write_digits(digits, x, k, power_of_two(23 - exponent));
    return {power_of_two(exponent - 23)};
  }

private:
  static float power_of_two(int e) { return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23); }
};

// The columns [begin, end) of c, of which `begin` is the first of a sliver.
template <class Kernels>
void multiply_by_bytes(const product<float>& whole, const weight_in_bytes& weight, std::size_t begin, std::size_t end,
                       std::span<std::byte> scratch) {
  const std::size_t k = whole.size.k, m = whole.size.m, groups = (k + 3) / 4;
  const std::size_t row_bytes = groups * Kernels::digit_bytes + 16; // kernels may write a little more
  constexpr std::size_t most_rows = 256, digits_at = most_rows * sizeof(float);
  const std::size_t rows_at_once = std::clamp<std::size_t>((scratch.size() - digits_at) / row_bytes, 1, most_rows);
  auto* const steps = reinterpret_cast<float*>(scratch.data());
  std::byte* const digits = scratch.data() + digits_at;
  alignas(64) double totals[2 * Kernels::sliver];
  alignas(64) float values[Kernels::sliver];
  for (std::size_t first = 0; first < m; first += rows_at_once) {
    const std::size_t rows = std::min(rows_at_once, m - first);
    for (std::size_t i = 0; i < rows; ++i)
      steps[i] = row_in_integers::write<Kernels>(digits + i * row_bytes, whole.a + (first + i) * whole.a_row, k).step;
    for (std::size_t j = begin; j < end; j += Kernels::sliver) {
      const std::size_t columns = std::min(Kernels::sliver, weight.padded_rows() - j);
      for (std::size_t i = 0; i < rows;) {
        const std::size_t together = rows - i >= 2 ? 2 : 1;
        Kernels::sums(totals, digits + i * row_bytes, row_bytes, together, weight.sliver(j), columns, groups);
        for (std::size_t r = 0; r < together; ++r, ++i) {
          Kernels::scale(values, totals + r * Kernels::sliver, weight.sums() + j, weight.scales() + j,
                         static_cast<double>(steps[i]), columns);
          finish_row(whole, first + i, j, std::min(columns, whole.size.n - j), values);
        }
      }
    }
  }
}

// Calls f(kernels) with those of the instruction set.
template <class T, class F>
void with_kernels_of_bytes([[maybe_unused]] instruction_set isa, const F& f) {
#if CAIRN_X86 && CAIRN_KERNELS_OPTIMIZED
  static const bool has_dots = __builtin_cpu_supports("avx512vnni") != 0;
  if (isa >= instruction_set::avx512 && has_dots) return f(bytes_avx512<T>{});
  if (isa >= instruction_set::avx2) return f(bytes_avx2<T>{});
#endif
  f(bytes_plain<T>{});
}

template <class T>
void multiply_by_bytes(cpu::queue& queue, instruction_set isa, const product<T>& whole, const void* packed, std::size_t threads) {
  with_kernels_of_bytes<T>(isa, [&]<class Kernels>(Kernels) {
    const weight_in_bytes weight(packed, whole.size.n, whole.size.k);
    const std::size_t n = whole.size.n, slivers = (n + Kernels::sliver - 1) / Kernels::sliver;
    const std::size_t each = std::max<std::size_t>(1, (slivers + threads - 1) / threads), parts = (slivers + each - 1) / each;
    queue.parallel_for(parts, [&](std::size_t part, std::span<std::byte> scratch) {
      const std::size_t begin = part * each * Kernels::sliver;
      multiply_by_bytes<Kernels>(whole, weight, begin, std::min(n, begin + each * Kernels::sliver), scratch);
    });
  });
}
template <class T>
void pack_bytes(instruction_set isa, void* to, matrix<const T> weight) {
  with_kernels_of_bytes<T>(isa, [&]<class Kernels>(Kernels) { weight_in_bytes::pack(to, weight, Kernels::sliver); });
}

} // namespace cairn::detail

CAIRN_KERNELS_END
