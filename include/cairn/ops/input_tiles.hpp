// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/window.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A rectangle of the input pixels of an image, whose gradients windows are added to: `sums` belongs to its first pixel, and
// neighbours in a row are `pixel` elements apart, neighbours in a column `row`.
template <class Sum>
struct input_tile {
  std::size_t row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;
  Sum* sums = nullptr;
  std::size_t pixel = 0, row = 0;

  bool has(std::size_t r, std::size_t c) const { return r >= row_begin && r < row_end && c >= column_begin && c < column_end; }
  Sum* at(std::size_t r, std::size_t c) const { return sums + (r - row_begin) * row + (c - column_begin) * pixel; }
};

// Calls f(tile) for tiles that cover the inputs of one image, of which `count` of `channels` channels are wanted, from
// `gradient` on. Sums of float and double are added up where they belong, in one tile. Those of 16-bit elements are added up in
// the scratch, in as few tiles as fit there, and rounded once.
template <class T, class F>
void for_each_input_tile(const window& over, std::size_t channels, std::size_t count, T* gradient,
                         [[maybe_unused]] std::span<std::byte> scratch, F&& f) {
  using sum = accumulated<T>;
  if constexpr (!is_narrow<T>) {
    for (std::size_t pixel = 0; pixel < over.inputs(); ++pixel) std::fill_n(gradient + pixel * channels, count, sum{0});
    f(input_tile<sum>{0, over.y.in, 0, over.x.in, gradient, channels, over.x.in * channels});
  } else {
    const std::size_t room = scratch.size() / sizeof(sum) / std::max<std::size_t>(1, count); // pixels
    const std::size_t columns = std::min(over.x.in, room), rows = std::min(over.y.in, room / std::max<std::size_t>(1, columns));
    auto* const sums = reinterpret_cast<sum*>(scratch.data());
    for (std::size_t r = 0; r < over.y.in; r += rows)
      for (std::size_t c = 0; c < over.x.in; c += columns) {
        const input_tile<sum> tile{
            r, std::min(over.y.in, r + rows), c, std::min(over.x.in, c + columns), sums, count, columns * count};
        std::fill_n(sums, rows * columns * count, sum{0});
        f(tile);
        for (std::size_t i = r; i < tile.row_end; ++i) {
          T* const to = gradient + (i * over.x.in + c) * channels;
          if (count == channels) round_once(to, tile.at(i, c), (tile.column_end - c) * count);
          else
            for (std::size_t j = c; j < tile.column_end; ++j) round_once(to + (j - c) * channels, tile.at(i, j), count);
        }
      }
  }
}

} // namespace cairn::detail

CAIRN_KERNELS_END
