// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda/blocks.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cuda_taps.cuh>
#include <cairn/ops/conv2d/cuda_tensor_tile.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>

namespace cairn::detail {

// The weight gradient of a convolution as a product of matrices: rows are output channels, columns are taps and for each of them
// input channels in whole quads, and the sum goes over the output pixels of all images. Columns are gathered from the pixels of
// the input while they are brought to shared memory.
//
// The pixels are cut into chunks, and chunks into steps, the same for every weight. Lane l of a tile has the pixels
// [8 l, 8 l + 8) of each step, and adds their products in the type of sums, one after another. At the end of a chunk the sums of
// the lanes are added in double, in order, and added in the type of sums to those of earlier chunks of the same part.
// sum_of_weight_parts adds up the parts.
template <class T, unsigned Rows>
struct weight_product {
  using wide = accumulated<T>;
  static constexpr unsigned width = quad_width<wide>, threads = 128, tile_columns = 16 * width;
  using tile = tile_of_elements<T, Rows, tile_columns, 64 / Rows>;
  using operands = typename tile::operands;
  using shared = typename tile::shared;
  static constexpr unsigned blocks = tile::blocks;
  static constexpr std::uint32_t chunk = 32 * tile::depth; // of pixels

  // A thread loads quads of one pixel: every of_pixel-th one of a row of A, and of B.
  static constexpr unsigned of_pixel = threads / tile::depth;
  static constexpr unsigned loads_of_a = Rows / width / of_pixel, loads_of_b = tile_columns / width / of_pixel;

  struct own {
    typename tile::sums sum;
    part_of_quad<T> a[loads_of_a], b[loads_of_b];
    std::uint32_t row[loads_of_b], column[loads_of_b], channel[loads_of_b]; // of the input, for output pixel 0
  };
  struct tile_at {
    std::uint32_t part, group, row, column;
  };

  small_axis down, across;
  divisor tiles, tiles_of_group, tiles_of_row;      // of a part, of a group, of a row of tiles
  divisor area, line, quads;                        // pixels of an image and of its rows; quads of channels of a group
  cut parts;                                        // of the pixels
  std::uint32_t in, out, in_bytes, out_bytes, taps; // channels of a group; to the next pixel
  bool aligned_input, aligned_output, aligned_sums;
  const T *output_gradient, *input;
  std::size_t weights;
  wide* sums; // (parts, weights)

  weight_product(const convolution& how, matrix<const T> dy, const T* x, wide* to, const cut& into)
      : down(how.over.y), across(how.over.x), area(how.over.outputs()), line(how.over.x.out),
        quads(quads_for<wide>(how.group_in())), parts(into), in(static_cast<std::uint32_t>(how.group_in())),
        out(static_cast<std::uint32_t>(how.group_out())), in_bytes(static_cast<std::uint32_t>(how.in_channels * sizeof(T))),
        out_bytes(static_cast<std::uint32_t>(dy.stride * sizeof(T))), taps(static_cast<std::uint32_t>(how.over.taps())),
        output_gradient(dy.data), input(x), weights(how.out_channels * how.depth()), sums(to) {
    tiles_of_row = (taps * quads.by() + 15) / 16;
    tiles_of_group = tiles_of_row.by() * ((out + Rows - 1) / Rows);
    tiles = tiles_of_group.by() * how.groups;
    aligned_input = are_quads(x) && in % width == 0;
    aligned_output = are_quads(dy.data) && dy.stride % width == 0 && out % width == 0;
    aligned_sums = are_quads(to) && in % width == 0;
  }

  template <class Block>
  CAIRN_DEVICE void operator()(Block& block, shared& memory, std::size_t index) const {
    const tile_at at = tile_of(static_cast<std::uint32_t>(index));
    const std::uint32_t first = static_cast<std::uint32_t>(parts.begin(at.part));
    const std::uint32_t end = first + static_cast<std::uint32_t>(parts.size(at.part));
    block.phase([&](unsigned t, own& mine) { begin(at, t, mine), load(at, first, end, t, mine); });
    for (std::uint32_t pixel = first; pixel < end; pixel += tile::depth) {
      block.phase([&](unsigned t, own& mine) { store(t, mine, memory.of); });
      block.phase([&](unsigned t, own& mine) {
        load(at, pixel + tile::depth, end, t, mine);
        tile::multiply(memory.of, t, mine.sum);
      });
      const std::uint32_t after = pixel + tile::depth - first;
      if (after % chunk != 0 && first + after < end) continue;
      block.phase([&](unsigned t, own& mine) { tile::put(mine.sum, t, memory); });
      block.phase([&](unsigned t, own& mine) {
        add(at, first + (after - 1) / chunk * chunk, first + after, first, end, t, memory);
        tile::clear(mine.sum);
      });
    }
  }

private:
  CAIRN_DEVICE tile_at tile_of(std::uint32_t index) const {
    const std::uint32_t part = tiles.of_small(index), of_part = index - part * tiles.small();
    const std::uint32_t group = tiles_of_group.of_small(of_part), of_group = of_part - group * tiles_of_group.small();
    const std::uint32_t row = tiles_of_row.of_small(of_group), column = of_group - row * tiles_of_row.small();
    return {part, group, row * Rows, column * tile_columns};
  }

  // The tap and the channels of a quad of columns.
  struct place {
    std::uint32_t tap, channel;
  };
  CAIRN_DEVICE place place_of(std::uint32_t column) const {
    const std::uint32_t tap = quads.of_small(column / width);
    return {tap, (column / width - tap * quads.small()) * width};
  }

  CAIRN_DEVICE void begin(const tile_at& at, unsigned t, own& mine) const {
    tile::clear(mine.sum);
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < loads_of_b; ++n) {
      const place of = place_of(at.column + (t % of_pixel + n * of_pixel) * width);
      const std::uint32_t i = of.tap / across.kernel, j = of.tap - i * across.kernel;
      mine.row[n] = of.tap < taps ? i * down.dilation - down.padding : nowhere;
      mine.column[n] = j * across.dilation - across.padding;
      mine.channel[n] = of.channel;
      keep(mine.row[n]), keep(mine.column[n]), keep(mine.channel[n]);
    }
  }

  // Loads the operands of the step from this pixel on from global memory.
  CAIRN_DEVICE void load(const tile_at& at, std::uint32_t from, std::uint32_t end, unsigned t, own& mine) const {
    const std::uint32_t pixel = from + t / of_pixel, image = area.of_small(pixel), own_pixel = pixel - image * area.small();
    const std::uint32_t p = line.of_small(own_pixel), y = p * down.stride, x = (own_pixel - p * line.small()) * across.stride;
    const std::uint32_t first = at.row + t % of_pixel * width, from_image = image * down.in;
    const bool there = pixel < end;
    const T* const dy = behind(output_gradient + (at.group * out + first), pixel, out_bytes);
    load_channels(
        mine.a, aligned_output, [&](unsigned n) { return there && first + n * of_pixel * width < out; },
        [&](unsigned n) { return dy + n * of_pixel * width; }, [&](unsigned n) { return out - first - n * of_pixel * width; });
    load_channels(
        mine.b, aligned_input, [&](unsigned n) { return there && y + mine.row[n] < down.in && x + mine.column[n] < across.in; },
        [&](unsigned n) {
          const std::uint32_t of_input = (from_image + y + mine.row[n]) * across.in + x + mine.column[n];
          return behind(input + (at.group * in + mine.channel[n]), of_input, in_bytes);
        },
        [&](unsigned n) { return in - mine.channel[n]; });
  }

  CAIRN_DEVICE void store(unsigned t, const own& mine, operands& to) const {
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < loads_of_a; ++n)
      put_in_shared(&to.a[t / of_pixel][(t % of_pixel + n * of_pixel) * width], widened(mine.a[n]));
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < loads_of_b; ++n)
      put_in_shared(&to.b[t / of_pixel][(t % of_pixel + n * of_pixel) * width], widened(mine.b[n]));
  }

  // Adds the sums of the chunk of the pixels [from, to) to those of the part [first, end).
  CAIRN_DEVICE void add(const tile_at& at, std::uint32_t from, std::uint32_t to, std::uint32_t first, std::uint32_t end,
                        unsigned t, const shared& of) const {
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (unsigned e = t; e < Rows * 16; e += threads) {
      const std::uint32_t row = e / 16, column = e % 16 * width, o = at.row + row;
      const place where = place_of(at.column + column);
      if (o >= out || where.tap >= taps) continue;
      double sum[width] = {};
      for (unsigned lane = 0; lane < 64 / Rows; ++lane) {
        const quad<wide> v = tile::quad_at(&of.sums[lane][row][column]);
        CAIRN_UNROLL_DEVICE
        for (unsigned j = 0; j < width; ++j) sum[j] += static_cast<double>(v.at[j]);
      }
      wide* const at_sums = sums + at.part * weights + ((at.group * out + o) * taps + where.tap) * in;
      quad<wide> v = {};
      if (from != first) v = load_quad<wide>(at_sums, where.channel, in, aligned_sums);
      CAIRN_UNROLL_DEVICE
      for (unsigned j = 0; j < width; ++j) {
        const bool is_finite = sum[j] - sum[j] == 0;
        v.at[j] += is_finite || where.channel + j >= in ? static_cast<wide>(sum[j])
                                                        : of_existing(at.group, o, where, j, from, to < end ? to : end);
      }
      store_quad(at_sums, v, where.channel, in, aligned_sums);
    }
  }

  // The sum of one weight over the pixels [from, to), without products that have a factor beside the image: such a factor is 0,
  // and its product with an infinity or NaN is none.
  CAIRN_DEVICE wide of_existing(std::uint32_t group, std::uint32_t o, const place& where, unsigned j, std::uint32_t from,
                                std::uint32_t to) const {
    const std::uint32_t i = where.tap / across.kernel, of_row = where.tap - i * across.kernel;
    wide sum = 0;
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (std::uint32_t pixel = from; pixel < to; ++pixel) {
      const std::uint32_t image = area.of_small(pixel), own_pixel = pixel - image * area.small(), p = line.of_small(own_pixel);
      const std::uint32_t row = p * down.stride + i * down.dilation - down.padding;
      const std::uint32_t column = (own_pixel - p * line.small()) * across.stride + of_row * across.dilation - across.padding;
      if (row >= down.in || column >= across.in) continue;
      sum += widened(*behind(output_gradient + (group * out + o), pixel, out_bytes)) *
             widened(*behind(input + (group * in + where.channel + j), (image * down.in + row) * across.in + column, in_bytes));
    }
    return sum;
  }
};

// Adds up the parts of each weight, in order.
template <class T>
struct sum_of_weight_parts {
  const T* sums;
  std::size_t parts, weights;
  T* weight_gradient;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    double sum = 0;
    for (std::size_t part = 0; part < parts; ++part) sum += static_cast<double>(sums[part * weights + at]);
    weight_gradient[at] = static_cast<T>(sum);
  }
};

// There are as many parts as there is room for, but not more than a GPU has places for, and at most `most` of them.
template <unsigned Rows, class T>
void launch_weight_product(cuda::queue& queue, const char* op, const convolution& how, accumulated<T>* weight_gradient,
                           matrix<const T> dy, const T* x, std::size_t most = 128) {
  using product = weight_product<T, Rows>;
  using wide = accumulated<T>;
  constexpr std::size_t blocks = 1024;
  const std::size_t weights = how.out_channels * how.depth();
  const auto room = queue.partial(op);
  const std::size_t fit = room.size_bytes() / sizeof(wide) / std::max<std::size_t>(1, weights);
  const std::size_t tiles = product(how, dy, x, weight_gradient, cut(1, 1, 1)).tiles.by();
  const std::size_t wanted = blocks / std::max<std::size_t>(1, tiles) + 1;
  const cut parts(dy.rows, product::chunk, std::max<std::size_t>(1, std::min({wanted, most, fit})));
  wide* const sums = parts.parts != 1 ? reinterpret_cast<wide*>(room.data()) : weight_gradient;
  const product body(how, dy, x, sums, parts);
  launch_blocks(queue, op, parts.parts * body.tiles.by(), body);
  if (parts.parts != 1) launch_each(queue, op, weights, sum_of_weight_parts<wide>{sums, parts.parts, weights, weight_gradient});
}

} // namespace cairn::detail
