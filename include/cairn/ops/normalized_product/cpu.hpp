// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/channel_statistics/columns.hpp>
#include <cairn/ops/channel_statistics/cpu.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/normalized_product/normalized_product.hpp>
#include <cairn/ops/normalized_product/reference.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The first part of a thread's scratch, where products pack. Tiles follow it.
inline constexpr std::size_t product_scratch = 1_MiB;

template <class T>
constexpr std::size_t padded_columns(std::size_t columns) {
  constexpr std::size_t line = 64 / sizeof(T);
  return (columns + line - 1) / line * line;
}

// One product by the calling thread.
template <class T>
void multiply_here(matrix<T> c, matrix<const T> a, matrix<const T> b, transpose form, const epilogue<T>& then,
                   std::span<std::byte> scratch) {
  const product<T> whole(c, a, b, form, then);
  multiply_for(widest_instruction_set(), whole, rectangle{0, whole.size.m, 0, whole.size.n}, scratch.first(product_scratch));
}

// Rows [begin, begin + rows) and columns [from, from + columns) of a matrix.
template <class M>
M part_of(M m, std::size_t begin, std::size_t rows, std::size_t from, std::size_t columns) {
  if (m.data != nullptr) m.data += begin * m.stride + from;
  m.rows = rows;
  m.columns = columns;
  return m;
}

// The tiles of backward: the columns of x of a part, the rows of a tile, and how far apart its rows lie. Sums over rows are added
// up tile by tile, so the number of rows depends on the extents alone.
template <class T>
struct tiles_of_backward {
  static constexpr std::size_t grain = 48;
  static constexpr std::size_t room = (cpu::queue::scratch_bytes - product_scratch) / sizeof(accumulated<T>);

  std::size_t out, width, rows = 0, stride = 0, h_stride = 0;

  tiles_of_backward(std::size_t in, std::size_t out_, std::size_t threads) : out(out_) {
    const std::size_t strips = std::min(threads, (in + grain - 1) / grain);
    const std::size_t fewest = (in + most_summed_columns - 1) / most_summed_columns; // sums lie on the stack
    const std::size_t wanted = std::max<std::size_t>({1, strips, fewest});
    width = std::min(((in + wanted - 1) / wanted + grain - 1) / grain * grain, most_summed_columns / 16 * 16);
    set_rows();
    while (is_narrow<T> && rows < norm_tile_rows && width > grain) width = (width / 2 + grain - 1) / grain * grain, set_rows();
  }
  // Always, unless elements have 16 bits and there are very many columns.
  bool fit() const { return rows > 0; }
  std::size_t weights() const {
    return is_narrow<T> ? align_up(out * width * sizeof(accumulated<T>)) / sizeof(accumulated<T>) : 0;
  }

private:
  void set_rows() {
    stride = padded_columns<accumulated<T>>(width);
    h_stride = is_narrow<T> ? out : padded_columns<accumulated<T>>(out);
    const std::size_t of_row = is_narrow<T> ? 3 * stride + 2 * h_stride : 2 * stride + h_stride;
    const std::size_t fit = weights() < room ? (room - weights()) / of_row : 0;
    rows = std::min(is_narrow<T> ? fit : std::max<std::size_t>(1, fit), norm_tile_rows);
  }
};
// Where a part has them; the last three are for elements of 16 bits.
template <class T>
struct memory_of_backward {
  accumulated<T>*y, *dy, *dh, *h, *x, *weight;

  memory_of_backward(const tiles_of_backward<T>& of, accumulated<T>* room)
      : y(room + of.weights()), dy(y + of.rows * of.stride), dh(dy + of.rows * of.stride), h(dh + of.rows * of.h_stride),
        x(h + of.rows * of.h_stride), weight(room) {}
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void normalized_product_forward(cpu::queue& queue, matrix<T> h, std::type_identity_t<accumulated<T>>* statistics,
                                std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight,
                                const std::type_identity_t<normalized_product_memory<T>>& memory) {
  using wide = accumulated<T>;
  const std::size_t in = x.columns, out = h.columns;
  const detail::channel_scales<wide> scales(memory.scales, in, norm);
  // Transposed once for all tiles, to the layout that the kernels read directly.
  for (std::size_t c = 0; c < in; ++c)
    for (std::size_t o = 0; o < out; ++o) memory.weight[c * out + o] = static_cast<wide>(weight[o * in + c]);

  const std::size_t stride = detail::padded_columns<wide>(in), made = detail::is_narrow<T> ? out : 0; // rounded when complete
  const std::size_t room = (cpu::queue::scratch_bytes - detail::product_scratch) / sizeof(wide);
  const std::size_t fit = std::clamp<std::size_t>(room / (stride + made), 1, detail::norm_tile_rows);
  queue.parallel_for(detail::norm_tiles(h.rows), [&](std::size_t tile, std::span<std::byte> scratch) {
    const std::size_t first = tile * detail::norm_tile_rows, rows = std::min(detail::norm_tile_rows, h.rows - first);
    auto* const tiles = reinterpret_cast<wide*>(scratch.data() + detail::product_scratch);
    for (std::size_t r = 0; r < rows; r += fit) {
      const std::size_t count = std::min(fit, rows - r);
      const matrix<wide> y{tiles, count, in, stride};
      detail::normalize_rows<T>(y, detail::part_of(x, first + r, count, 0, in), scales);
      const matrix<T> of_tile = detail::part_of(h, first + r, count, 0, out);
      const auto multiply = [&](const matrix<wide>& to) { // (rows, out) = (rows, in) x (in, out)
        detail::multiply_here<wide>(to, y, {memory.weight, in, out}, transpose::none, {}, scratch);
      };
      if constexpr (!detail::is_narrow<T>) {
        multiply(of_tile);
      } else {
        multiply({tiles + fit * stride, count, out});
        detail::round_rows<T>(of_tile, {tiles + fit * stride, count, out});
      }
    }
    if (statistics != nullptr)
      detail::tile_statistics<T>(detail::part_of(h, first, rows, 0, out), memory.partial + 2 * out * tile);
  });
  if (statistics != nullptr)
    detail::combine_statistics(memory.partial, detail::norm_tiles(h.rows), detail::norm_tile_rows, h.rows, out, statistics);
}

// The work is divided by columns of x, which are independent of each other: every sum is made by one thread, in the order of
// the rows. Elements of 16 bits are widened tile by tile, and the weights of a part once; only the gradient of x is rounded.
template <class T>
void normalized_product_backward(cpu::queue& queue, const normalized_product_gradients<T>& gradients,
                                 std::type_identity_t<matrix<const T>> h_gradient, std::type_identity_t<matrix<const T>> h,
                                 const std::type_identity_t<accumulated<T>>* h_statistics,
                                 const std::type_identity_t<accumulated<T>>* h_statistics_gradient,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                 const std::type_identity_t<T>* weight, std::type_identity_t<accumulated<T>>* scales) {
  using wide = accumulated<T>;
  const std::size_t in = x.columns, out = h.columns, rows = x.rows;
  const detail::channel_scales<wide> of_x(scales, in, norm);
  wide *const mean = scales + 3 * in, *const first = mean + out, *const second = first + out;
  const auto count = static_cast<double>(rows);
  for (std::size_t o = 0; h_statistics_gradient != nullptr && o < out; ++o) {
    mean[o] = h_statistics[2 * o];
    first[o] = static_cast<wide>(static_cast<double>(h_statistics_gradient[2 * o]) / count);
    second[o] = static_cast<wide>(2 * static_cast<double>(h_statistics_gradient[2 * o + 1]) / count);
  }
  const bool wants_x = gradients.x.data != nullptr || gradients.statistics != nullptr || gradients.norm_weight != nullptr ||
                       gradients.norm_bias != nullptr;
  const detail::tiles_of_backward<T> tiles(in, out, queue.threads());
  if constexpr (detail::is_narrow<T>)
    if (!tiles.fit())
      return detail::normalized_product_backward_reference<T>(gradients, h_gradient, h, h_statistics, h_statistics_gradient, x,
                                                              norm, weight);
  const std::size_t width = tiles.width, fit = tiles.rows, stride = tiles.stride;
  queue.parallel_for((in + width - 1) / width, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t from = part * width, columns = std::min(width, in - from);
    const detail::memory_of_backward<T> at(tiles, reinterpret_cast<wide*>(scratch.data() + detail::product_scratch));
    const matrix<const wide> w =
        detail::widened(detail::part_of(matrix<const T>{weight, out, in}, 0, out, from, columns), at.weight);
    detail::two_chains<wide> sums;
    for (std::size_t r = 0; r < rows; r += fit) {
      const std::size_t here = std::min(fit, rows - r);
      matrix<const wide> dh = detail::widened(detail::part_of(h_gradient, r, here, 0, out), at.dh);
      if (h_statistics_gradient != nullptr) {
        const matrix<wide> whole{at.dh, here, out, tiles.h_stride};
        detail::run_tile(detail::add_linear_tile<wide>{whole, dh, detail::widened(detail::part_of(h, r, here, 0, out), at.h),
                                                       mean, first, second});
        dh = whole;
      }
      const matrix<const wide> of_tile = detail::widened(detail::part_of(x, r, here, from, columns), at.x);
      const matrix<wide> y{at.y, here, columns, stride};
      detail::run_tile(detail::normalize_tile<wide>{y, of_tile, of_x.from(from)});
      if (gradients.weight != nullptr) {
        const matrix<wide> dw{gradients.weight + from, out, columns, in};
        epilogue<wide> then{};
        if (r > 0) then.addend = dw;
        detail::multiply_here<wide>(dw, dh, y, transpose::first, then, scratch); // (out, in) = (rows, out)^T x (rows, in)
      }
      if (!wants_x) continue;
      const matrix<wide> dy{at.dy, here, columns, stride};
      epilogue<wide> then{};
      then.mask = y;
      detail::multiply_here<wide>(dy, dh, w, transpose::none, then, scratch); // (rows, in) = (rows, out) x (out, in)
      const matrix<T> result = detail::part_of(gradients.x, r, here, from, columns);
      const matrix<const T> before = detail::part_of(gradients.addend, r, here, from, columns);
      matrix<wide> dx{};
      if constexpr (!detail::is_narrow<T>) dx = result;
      else if (result.data != nullptr) dx = {at.dy, here, columns, stride};
      if (before.data != nullptr)
        detail::run_tile(
            detail::norm_backward_tile<wide, true, true>{dx, dy, of_tile, detail::widened(before, at.y), of_x.from(from), &sums});
      else detail::run_tile(detail::norm_backward_tile<wide, true, false>{dx, dy, of_tile, {}, of_x.from(from), &sums});
      if constexpr (detail::is_narrow<T>)
        if (result.data != nullptr) detail::round_rows<T>(result, dx);
    }
    for (std::size_t j = 0; wants_x && j < columns; ++j)
      detail::norm_gradients(sums.first[j], sums.second[j], norm, from + j, gradients.norm_weight, gradients.norm_bias,
                             gradients.statistics);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
