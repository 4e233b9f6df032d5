// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Ways to divide work on a matrix among threads. Neither may change a bit of the result: the values of a row or a column must not
// depend on the others in its part.

// f(begin, end, scratch) for stretches of rows, of about `grain` elements each.
template <class F>
void for_each_stretch_of_rows(cpu::queue& queue, std::size_t rows, std::size_t columns, F&& f, std::size_t grain = 4096) {
  const std::size_t length = std::max<std::size_t>(1, grain / std::max<std::size_t>(1, columns));
  queue.parallel_for((rows + length - 1) / length, [&](std::size_t part, std::span<std::byte> scratch) {
    f(part * length, std::min(rows, (part + 1) * length), scratch);
  });
}

// f(row) for every row, in parts of about `grain` elements.
template <class F>
void for_each_row(cpu::queue& queue, std::size_t rows, std::size_t columns, F&& f, std::size_t grain = 4096) {
  for_each_stretch_of_rows(
      queue, rows, columns,
      [&](std::size_t begin, std::size_t end, auto) {
        for (std::size_t row = begin; row < end; ++row) f(row);
      },
      grain);
}

// The widest strip of columns. A strip of sums stays in the innermost cache, and a row of a strip is long enough for the memory
// to be read in order.
inline constexpr std::size_t strip = 512;

// Calls f(begin, columns, scratch) for strips that cover all columns, for sums over rows; an f of two parameters needs no
// scratch. If the matrix is worth several threads, there are about as many strips as threads, or a multiple of that. All strips
// but the last are a multiple of a block wide, so a column's place in its block is always the same.
template <class F>
void for_each_strip(cpu::queue& queue, std::size_t rows, std::size_t columns, F&& f) {
  const std::size_t threads = rows * columns < element_part ? 1 : queue.threads();
  const std::size_t wanted = ((columns + strip - 1) / strip + threads - 1) / threads * threads;
  if (wanted == 0) return;
  const std::size_t blocks = (columns + element_block - 1) / element_block;
  const std::size_t width = (blocks + wanted - 1) / wanted * element_block;
  queue.parallel_for((columns + width - 1) / width, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t begin = part * width, count = std::min(width, columns - begin);
    if constexpr (std::is_invocable_v<F&, std::size_t, std::size_t, std::span<std::byte>>) f(begin, count, scratch);
    else f(begin, count);
  });
}

} // namespace cairn::detail

CAIRN_KERNELS_END
