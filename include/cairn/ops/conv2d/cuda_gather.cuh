// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda/blocks.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cuda_taps.cuh>
#include <cairn/ops/conv2d/cuda_tensor_tile.cuh>
#include <cairn/ops/matmul/cuda_epilogue.cuh>

namespace cairn::detail {

// The output of a convolution, or with Back its input gradient, as a product of matrices: rows are pixels of the result, columns
// its channels, and a row of A is gathered from the pixels of the source while it is brought to shared memory. An element is one
// chain of multiply-adds in the type of sums, over taps row by row and for each of them over the channels in ascending order,
// with 0 for pixels beside the image. Elements of 16 bits are widened on their way to shared memory; see cuda_tensor_tile.cuh.
template <class T, unsigned Columns, bool Back>
struct gathered_product {
  using wide = accumulated<T>;
  static constexpr unsigned width = quad_width<wide>, threads = 128;
  static constexpr unsigned tile_rows = threads * 8 * width / Columns;
  using tile = tile_of_elements<T, tile_rows, Columns, 1>;
  using operands = typename tile::operands;
  using shared = typename tile::shared;
  static constexpr unsigned blocks = tile::blocks;

  // Quads along k of a row of A, and of a row of B where a weight lies along k; a thread has the same k of each of its rows.
  static constexpr unsigned quads = tile::depth / width, rows_at_once = threads / quads;
  static constexpr unsigned loads_of_a = tile_rows / rows_at_once;
  // Quads along the columns of B, where a weight lies along them; a thread has the same k of each of its quads.
  static constexpr unsigned of_k = Columns / width < threads / tile::depth ? Columns / width : threads / tile::depth;
  static constexpr unsigned loads_of_b = Back ? Columns / width / of_k : (Columns + rows_at_once - 1) / rows_at_once;

  struct own {
    typename tile::sums sum;
    part_of_quad<T> a[loads_of_a], b[loads_of_b];
    std::uint32_t row[loads_of_a], column[loads_of_a], pixel[loads_of_a]; // of the source, which tap 0 reads
    std::uint32_t weight[loads_of_b];                                     // the first element of a row of B, or of a column
    place_of_product at, of_weight;
  };
  // The tile of a block.
  struct tile_at {
    std::uint32_t group, row, column; // the first column is counted in the group
    taps_of_axis y, x;
  };

  small_axis down, across;
  divisor columns_of_grid, columns_of_group, rows_of_grid, classes; // tiles in all groups, in one; in a class; classes of a row
  divisor area, line;                                               // pixels of an image's class, and of its rows
  std::uint32_t rows;                                               // of a class, of all images
  std::uint32_t source_channels, result_channels, source_bytes;     // channels of a group; to the next pixel
  std::uint32_t padded;                                             // source_channels in whole quads
  std::uint32_t in, taps;                                           // of the weight: channels of a group, taps
  bool aligned_source, aligned_weight, aligned_result;
  const T *source, *weight;
  matrix<T> result;
  epilogue<T> then;

  gathered_product(const convolution& how, std::size_t samples, matrix<T> to, matrix<const T> from, const T* by,
                   const epilogue<T>& what)
      : down(how.over.y), across(how.over.x), source(from.data), weight(by), result(to), then(what) {
    const std::size_t height = Back ? down.results_of_class() : down.out;
    const std::size_t length = Back ? across.results_of_class() : across.out;
    area = height * length, line = length;
    rows = static_cast<std::uint32_t>(samples * height * length);
    source_channels = static_cast<std::uint32_t>(Back ? how.group_out() : how.group_in());
    result_channels = static_cast<std::uint32_t>(Back ? how.group_in() : how.group_out());
    source_bytes = static_cast<std::uint32_t>(from.stride * sizeof(T));
    padded = in_quads<T>(source_channels);
    in = static_cast<std::uint32_t>(how.group_in()), taps = static_cast<std::uint32_t>(how.over.taps());
    columns_of_group = (result_channels + Columns - 1) / Columns;
    columns_of_grid = columns_of_group.by() * how.groups;
    rows_of_grid = (rows + tile_rows - 1) / tile_rows;
    classes = Back ? how.over.x.stride : 1;
    aligned_source = are_quads(from.data) && from.stride % width == 0 && source_channels % width == 0;
    aligned_weight = are_quads(by) && in % width == 0;
    aligned_result = quads_finish(to, what) && result_channels % width == 0;
  }
  std::size_t grid() const { return columns_of_grid.by() * rows_of_grid.by() * classes.by() * (Back ? down.stride : 1); }

  template <class Block>
  CAIRN_DEVICE void operator()(Block& block, shared& memory, std::size_t index) const {
    const tile_at at = tile_of(static_cast<std::uint32_t>(index));
    const std::uint32_t steps = (at.y.taps * at.x.taps * padded + tile::depth - 1) / tile::depth;
    block.phase([&](unsigned t, own& mine) {
      begin(at, t, mine);
      if (steps > 0) load(at, t, mine); // without steps no tap reaches these results
    });
    for (std::uint32_t step = 0; step < steps; ++step) {
      block.phase([&](unsigned t, own& mine) { store(t, mine, memory.of); });
      block.phase([&](unsigned t, own& mine) {
        if (step + 1 < steps) load(at, t, mine);
        tile::multiply(memory.of, t, mine.sum);
      });
    }
    block.phase([&](unsigned t, own& mine) { tile::put(mine.sum, t, memory); });
    block.phase([&](unsigned t, own&) { finish(at, t, memory); });
  }

private:
  CAIRN_DEVICE tile_at tile_of(std::uint32_t index) const {
    const std::uint32_t place = columns_of_grid.of_small(index), of_grid = index - place * columns_of_grid.small();
    const std::uint32_t group = columns_of_group.of_small(of_grid), of_group = of_grid - group * columns_of_group.small();
    if constexpr (!Back) {
      return {group, place * tile_rows, of_group * Columns, down.of_outputs(), across.of_outputs()};
    } else {
      const std::uint32_t which = rows_of_grid.of_small(place), row = place - which * rows_of_grid.small();
      const std::uint32_t y = classes.of_small(which), x = which - y * classes.small();
      return {group, row * tile_rows, of_group * Columns, down.of_inputs(y), across.of_inputs(x)};
    }
  }

  CAIRN_DEVICE void begin(const tile_at& at, unsigned t, own& mine) const {
    tile::clear(mine.sum);
    mine.at = mine.of_weight = {0, 0, 0};
    mine.at.move(t % quads * width, padded, at.x.taps);
    if constexpr (Back) mine.of_weight.move(t / of_k, padded, at.x.taps);
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < loads_of_a; ++n) {
      const std::uint32_t m = at.row + t / quads + n * rows_at_once, image = area.of_small(m), place = m - image * area.small();
      const std::uint32_t u = line.of_small(place), v = place - u * line.small();
      mine.row[n] = m < rows ? u * at.y.scale + at.y.offset : nowhere;
      mine.column[n] = v * at.x.scale + at.x.offset;
      mine.pixel[n] = (image * at.y.extent + mine.row[n]) * at.x.extent + mine.column[n];
      keep(mine.row[n]), keep(mine.column[n]), keep(mine.pixel[n]);
    }
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < loads_of_b; ++n) {
      if constexpr (Back) {
        const std::uint32_t column = at.column + (t % of_k + n * of_k) * width;
        mine.weight[n] = t / of_k < tile::depth && column < in ? at.group * source_channels * taps * in + column : nowhere;
      } else {
        const std::uint32_t column = t / quads + n * rows_at_once, o = at.column + column;
        mine.weight[n] = column < Columns && o < result_channels ? (at.group * result_channels + o) * taps * in : nowhere;
      }
      keep(mine.weight[n]);
    }
  }

  // Loads the operands of the next step from global memory.
  CAIRN_DEVICE void load(const tile_at& at, unsigned t, own& mine) const {
    const bool there = mine.at.y < at.y.taps;
    const std::uint32_t down_by = mine.at.y * at.y.step, beside = mine.at.x * at.x.step;
    const std::uint32_t below = there ? down_by : nowhere / 2, further = down_by * at.x.extent + beside;
    const T* const from = source + (at.group * source_channels + mine.at.channel);
    load_channels(
        mine.a, aligned_source,
        [&](unsigned n) { return mine.row[n] + below < at.y.extent && mine.column[n] + beside < at.x.extent; },
        [&](unsigned n) { return behind(from, mine.pixel[n] + further, source_bytes); },
        [&](unsigned) { return source_channels - mine.at.channel; });
    if constexpr (Back) {
      const bool has = mine.of_weight.y < at.y.taps && mine.of_weight.channel < source_channels;
      const std::uint32_t row = (mine.of_weight.channel * taps + tap_of(at, mine.of_weight)) * in;
      load_channels(
          mine.b, aligned_weight, [&](unsigned n) { return has && mine.weight[n] != nowhere; },
          [&](unsigned n) { return weight + (mine.weight[n] + row); },
          [&](unsigned n) { return in - at.column - (t % of_k + n * of_k) * width; });
      mine.of_weight.move(tile::depth, padded, at.x.taps);
    } else {
      const std::uint32_t place = tap_of(at, mine.at) * in + mine.at.channel;
      load_channels(
          mine.b, aligned_weight, [&](unsigned n) { return there && mine.weight[n] != nowhere; },
          [&](unsigned n) { return weight + (mine.weight[n] + place); }, [&](unsigned) { return in - mine.at.channel; });
    }
    mine.at.move(tile::depth, padded, at.x.taps);
  }
  CAIRN_DEVICE std::uint32_t tap_of(const tile_at& at, const place_of_product& place) const {
    return (at.y.first + place.y * at.y.period) * across.kernel + at.x.first + place.x * at.x.period;
  }

  CAIRN_DEVICE void store(unsigned t, const own& mine, operands& to) const {
    const unsigned k = t % quads * width;
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < loads_of_a; ++n) CAIRN_UNROLL_DEVICE
    for (unsigned i = 0; i < width; ++i) to.a[k + i][t / quads + n * rows_at_once] = widened(mine.a[n].at[i]);
    CAIRN_UNROLL_DEVICE
    for (unsigned n = 0; n < loads_of_b; ++n)
      if constexpr (Back) {
        if (t / of_k < tile::depth) put_in_shared(&to.b[t / of_k][(t % of_k + n * of_k) * width], widened(mine.b[n]));
      } else if (t / quads + n * rows_at_once < Columns) {
        CAIRN_UNROLL_DEVICE
        for (unsigned i = 0; i < width; ++i) to.b[k + i][t / quads + n * rows_at_once] = widened(mine.b[n].at[i]);
      }
  }

  CAIRN_DEVICE void finish(const tile_at& at, unsigned t, const shared& from) const {
    constexpr unsigned of_row = Columns / width;
    const std::uint32_t column = t % of_row * width, before = at.group * result_channels;
    if (at.column + column >= result_channels) return;
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (unsigned row = t / of_row; row < tile_rows; row += threads / of_row) {
      const std::uint32_t m = at.row + row;
      if (m >= rows) return;
      std::size_t pixel = m;
      if constexpr (Back) {
        const std::uint32_t image = area.of_small(m), place = m - image * area.small(), u = line.of_small(place);
        const std::uint32_t y = at.y.start + u * at.y.apart, x = at.x.start + (place - u * line.small()) * at.x.apart;
        if (y >= down.in || x >= across.in) continue;
        pixel = (image * down.in + y) * across.in + x;
      }
      quad<wide> v = tile::quad_at(&from.sums[0][row][column]);
      finish_quad(then, pixel, before + at.column + column, before + result_channels, aligned_result, v);
      store_part(result.data + pixel * result.stride, v, before + at.column + column, before + result_channels, aligned_result);
    }
  }
};

// The width of tiles for this number of columns: narrow ones read A more often, wide ones have more empty columns.
inline unsigned columns_of_tiles(std::size_t columns) {
  const auto cost = [columns](std::size_t tile, std::size_t of_product) {
    return (columns + tile - 1) / tile * tile * of_product;
  };
  const std::size_t narrow = cost(16, 5), middle = cost(32, 4), wide = cost(64, 4);
  return wide <= middle && wide <= narrow ? 64 : middle <= narrow ? 32 : 16;
}

template <bool Back, class T>
void launch_gathered(cuda::queue& queue, const char* op, const convolution& how, std::size_t samples, matrix<T> to,
                     matrix<const T> from, const T* weight, const epilogue<T>& then) {
  const auto start = [&](const auto& body) { launch_blocks(queue, op, body.grid(), body); };
  switch (columns_of_tiles(Back ? how.group_in() : how.group_out())) {
  case 16: return start(gathered_product<T, 16, Back>(how, samples, to, from, weight, then));
  case 32: return start(gathered_product<T, 32, Back>(how, samples, to, from, weight, then));
  default: return start(gathered_product<T, 64, Back>(how, samples, to, from, weight, then));
  }
}

} // namespace cairn::detail
