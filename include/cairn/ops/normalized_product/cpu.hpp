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
#include <cairn/ops/matmul/cpu.hpp>
#include <cairn/ops/normalized_product/normalized_product.hpp>

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

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void normalized_product_forward(cpu::queue& queue, matrix<T> h, std::type_identity_t<accumulated<T>>* statistics,
                                std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight,
                                const std::type_identity_t<normalized_product_memory<T>>& memory) {
  const std::size_t in = x.columns, out = h.columns;
  const detail::channel_scales<T> scales(memory.scales, in, norm);
  // Transposed once for all tiles, to the layout that the kernels read directly.
  for (std::size_t c = 0; c < in; ++c)
    for (std::size_t o = 0; o < out; ++o) memory.weight[c * out + o] = weight[o * in + c];

  const std::size_t stride = detail::padded_columns<T>(in);
  const std::size_t room = (cpu::queue::scratch_bytes - detail::product_scratch) / sizeof(T);
  const std::size_t fit = std::clamp<std::size_t>(room / stride, 1, detail::norm_tile_rows);
  queue.parallel_for(detail::norm_tiles(h.rows), [&](std::size_t tile, std::span<std::byte> scratch) {
    const std::size_t first = tile * detail::norm_tile_rows, rows = std::min(detail::norm_tile_rows, h.rows - first);
    T* const tiles = reinterpret_cast<T*>(scratch.data() + detail::product_scratch);
    for (std::size_t r = 0; r < rows; r += fit) {
      const std::size_t count = std::min(fit, rows - r);
      const matrix<T> y{tiles, count, in, stride};
      detail::run_tile(detail::normalize_tile<T>{y, detail::part_of(x, first + r, count, 0, in), scales});
      detail::multiply_here<T>(detail::part_of(h, first + r, count, 0, out), y, {memory.weight, in, out}, transpose::none, {},
                               scratch); // (rows, out) = (rows, in) x (in, out)
    }
    if (statistics != nullptr)
      detail::tile_statistics<T>(detail::part_of(h, first, rows, 0, out), memory.partial + 2 * out * tile);
  });
  if (statistics != nullptr)
    detail::combine_statistics(memory.partial, detail::norm_tiles(h.rows), detail::norm_tile_rows, h.rows, out, statistics);
}

// The work is divided by columns of x, which are independent of each other: every sum is made by one thread, in the order of
// the rows.
template <class T>
void normalized_product_backward(cpu::queue& queue, const normalized_product_gradients<T>& gradients,
                                 std::type_identity_t<matrix<const T>> h_gradient, std::type_identity_t<matrix<const T>> h,
                                 const std::type_identity_t<accumulated<T>>* h_statistics,
                                 const std::type_identity_t<accumulated<T>>* h_statistics_gradient,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<channel_norm<T>>& norm,
                                 const std::type_identity_t<T>* weight, std::type_identity_t<T>* scales) {
  const std::size_t in = x.columns, out = h.columns, rows = x.rows;
  const detail::channel_scales<T> of_x(scales, in, norm);
  T *const mean = scales + 3 * in, *const first = mean + out, *const second = first + out;
  const auto count = static_cast<double>(rows);
  for (std::size_t o = 0; h_statistics_gradient != nullptr && o < out; ++o) {
    mean[o] = static_cast<T>(h_statistics[2 * o]);
    first[o] = static_cast<T>(static_cast<double>(h_statistics_gradient[2 * o]) / count);
    second[o] = static_cast<T>(2 * static_cast<double>(h_statistics_gradient[2 * o + 1]) / count);
  }
  const bool wants_x = gradients.x.data != nullptr || gradients.statistics != nullptr || gradients.norm_weight != nullptr ||
                       gradients.norm_bias != nullptr;
  constexpr std::size_t grain = 48;
  const std::size_t strips = std::min(queue.threads(), (in + grain - 1) / grain);
  const std::size_t fewest = (in + detail::most_summed_columns - 1) / detail::most_summed_columns; // sums lie on the stack
  const std::size_t wanted = std::max<std::size_t>({1, strips, fewest});
  const std::size_t width =
      std::min(((in + wanted - 1) / wanted + grain - 1) / grain * grain, detail::most_summed_columns / 16 * 16);
  const std::size_t stride = detail::padded_columns<T>(width), h_stride = detail::padded_columns<T>(out);
  const std::size_t room = (cpu::queue::scratch_bytes - detail::product_scratch) / sizeof(T);
  const std::size_t fit = std::clamp<std::size_t>(room / (2 * stride + h_stride), 1, detail::norm_tile_rows);
  queue.parallel_for((in + width - 1) / width, [&](std::size_t part, std::span<std::byte> scratch) {
    const std::size_t from = part * width, columns = std::min(width, in - from);
    T* const tiles = reinterpret_cast<T*>(scratch.data() + detail::product_scratch);
    detail::two_chains<T> sums;
    for (std::size_t r = 0; r < rows; r += fit) {
      const std::size_t here = std::min(fit, rows - r);
      matrix<const T> dh = detail::part_of(h_gradient, r, here, 0, out);
      if (h_statistics_gradient != nullptr) {
        const matrix<T> whole{tiles + 2 * fit * stride, here, out, h_stride};
        detail::run_tile(detail::add_linear_tile<T>{whole, dh, detail::part_of(h, r, here, 0, out), mean, first, second});
        dh = whole;
      }
      const matrix<const T> of_tile = detail::part_of(x, r, here, from, columns);
      const matrix<T> y{tiles, here, columns, stride};
      detail::run_tile(detail::normalize_tile<T>{y, of_tile, of_x.from(from)});
      if (gradients.weight != nullptr) {
        const matrix<T> dw{gradients.weight + from, out, columns, in};
        epilogue<T> then{};
        if (r > 0) then.addend = dw;
        detail::multiply_here<T>(dw, dh, y, transpose::first, then, scratch); // (out, in) = (rows, out)^T x (rows, in)
      }
      if (!wants_x) continue;
      const matrix<T> dy{tiles + fit * stride, here, columns, stride};
      epilogue<T> then{};
      then.mask = y;
      detail::multiply_here<T>(dy, dh, {weight + from, out, columns, in}, transpose::none, then,
                               scratch); // (rows, in) = (rows, out) x (out, in)
      const matrix<T> dx = detail::part_of(gradients.x, r, here, from, columns);
      const matrix<const T> addend = detail::part_of(gradients.addend, r, here, from, columns);
      if (addend.data != nullptr)
        detail::run_tile(detail::norm_backward_tile<T, true, true>{dx, dy, of_tile, addend, of_x.from(from), &sums});
      else detail::run_tile(detail::norm_backward_tile<T, true, false>{dx, dy, of_tile, {}, of_x.from(from), &sums});
    }
    for (std::size_t j = 0; wants_x && j < columns; ++j)
      detail::norm_gradients(sums.first[j], sums.second[j], norm, from + j, gradients.norm_weight, gradients.norm_bias,
                             gradients.statistics);
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
