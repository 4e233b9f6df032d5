// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/channel_statistics/columns.hpp>
#include <cairn/ops/channel_statistics/cpu.hpp>
#include <cairn/ops/conv2d/cpu.hpp>
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>
#include <cairn/ops/normalized_conv2d/reference.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Calls f(first image, images, stretch, scratch) for all stretches of images.
template <class F>
void for_each_stretch_of_images(cpu::queue& queue, std::size_t samples, std::size_t pixels, F&& f) {
  const std::size_t each = images_of_stretch(pixels);
  queue.parallel_for((samples + each - 1) / each, [&](std::size_t stretch, std::span<std::byte> scratch) {
    const std::size_t first = stretch * each;
    f(first, std::min(each, samples - first), stretch, scratch);
  });
}

// Whether it has tiles, or no results: not if the channels of the pixels that one result is computed from do not fit into the
// scratch.
template <class T, class C>
bool can_gather(const gathering<T, C>& all) {
  return tiles_of(all, 1).columns > 0 || all.is_empty();
}
// Runs all tiles of a gathering in the calling thread.
template <class T, class C>
void gather_here(const gathering<T, C>& all, std::span<std::byte> scratch) {
  const gather_tiles tiles = tiles_of(all, all.samples);
  gather_for(widest_instruction_set(), all, tiles, 0, tiles.count(all.samples), scratch);
}

// The backward of the norm and its ReLU for some columns of a stretch, as norm_backward_tile: from the gradient of what the
// convolution read, which dx may overwrite. `partial` receives the two sums of each column.
template <class T>
void norm_backward_stretch(matrix<T> dx, matrix<accumulated<T>> gradient, matrix<const T> x,
                           const channel_scales<accumulated<T>>& by, accumulated<T>* partial) {
  using wide = accumulated<T>;
  two_chains<wide> sums;
  if constexpr (!is_narrow<T>) {
    run_tile(norm_backward_tile<T, false, false>{dx, gradient, x, {}, by, &sums});
  } else { // whole chains at a time
    constexpr std::size_t room = sum_chain * most_summed_columns;
    alignas(64) wide own[room];
    const std::size_t most = room / x.columns / sum_chain * sum_chain;
    for (std::size_t row = 0; row < x.rows; row += most) {
      const std::size_t rows = std::min(most, x.rows - row);
      const auto some = [&](auto m) {
        m.data += row * m.stride;
        m.rows = rows;
        return m;
      };
      const matrix<wide> here = some(gradient);
      run_tile(norm_backward_tile<wide, false, false>{here, here, widened(some(x), own), {}, by, &sums});
      if (dx.data != nullptr) round_rows<T>(some(dx), here);
    }
  }
  for (std::size_t j = 0; j < x.columns; ++j) {
    partial[2 * j] = static_cast<wide>(sums.first[j]);
    partial[2 * j + 1] = static_cast<wide>(sums.second[j]);
  }
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void normalized_conv2d_forward(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<T> y,
                               std::type_identity_t<accumulated<T>>* statistics, const std::type_identity_t<T>* x,
                               const std::type_identity_t<channel_norm<T>>& norm, const std::type_identity_t<T>* weight,
                               std::type_identity_t<accumulated<T>>* scales, std::type_identity_t<accumulated<T>>* partial) {
  const std::size_t from = how.over.inputs(), to = how.over.outputs(), out = how.out_channels;
  if (!detail::can_gather(detail::gathering_of_outputs<T>(how, 1, y, x, weight, {})))
    return detail::normalized_conv2d_forward_reference<T>(how, samples, y, statistics, x, norm, weight);
  const detail::channel_scales<accumulated<T>> of_x(scales, how.in_channels, norm);
  detail::for_each_stretch_of_images(
      queue, samples, from, [&](std::size_t first, std::size_t count, std::size_t stretch, std::span<std::byte> scratch) {
        const matrix<T> here{y.data + first * to * y.stride, count * to, out, y.stride};
        detail::gathering<T> all =
            detail::gathering_of_outputs<T>(how, count, here, x + first * from * how.in_channels, weight, {});
        all.source.scales = of_x;
        detail::gather_here(all, scratch);
        if (statistics != nullptr) detail::tile_statistics<T>(here, partial + 2 * out * stretch);
      });
  const std::size_t each = detail::images_of_stretch(from);
  if (statistics != nullptr)
    detail::combine_statistics(partial, (samples + each - 1) / each, each * to, samples * to, out, statistics);
}

template <class T>
void normalized_conv2d_backward(cpu::queue& queue, const convolution& how, std::size_t samples,
                                const normalized_conv2d_gradients<T>& gradients, std::type_identity_t<matrix<const T>> y_gradient,
                                const std::type_identity_t<T>* x, const std::type_identity_t<channel_norm<T>>& norm,
                                const std::type_identity_t<T>* weight, std::type_identity_t<accumulated<T>>* scales,
                                std::type_identity_t<accumulated<T>>* partial) {
  using A = accumulated<T>;
  const std::size_t from = how.over.inputs(), to = how.over.outputs(), in = how.in_channels;
  const detail::channel_scales<accumulated<T>> of_x(scales, in, norm);
  if (gradients.weight != nullptr &&
      !detail::sum_weights_on(queue, detail::widest_instruction_set(), how, samples, gradients.weight, y_gradient, x, of_x)) {
    normalized_conv2d_gradients<T> of_weight;
    of_weight.weight = gradients.weight;
    detail::normalized_conv2d_backward_reference<T>(how, samples, of_weight, y_gradient, x, norm, weight);
  }
  if (gradients.x == nullptr && gradients.statistics == nullptr && gradients.norm_weight == nullptr &&
      gradients.norm_bias == nullptr)
    return;
  // The gradient of what the convolution reads is made where that of x will be. If that is not wanted, or has 16-bit elements, it
  // is made in the scratch, a stretch at a time; for 16-bit elements, as many columns of it as there is room for. Maps of more
  // pixels or channels than fit there take the slow reference.
  const bool in_place = !detail::is_narrow<T> && gradients.x != nullptr;
  constexpr std::size_t packed = detail::gather_room<A>::whole + (detail::is_narrow<T> ? detail::gather_room<A>::carry : 0);
  const std::size_t room =
      (cpu::queue::scratch_bytes / sizeof(A) - packed) / std::max<std::size_t>(1, detail::images_of_stretch(from) * from);
  constexpr std::size_t few = 16;
  const std::size_t together = in_place || room >= in ? in : detail::is_narrow<T> ? room / few * few : 0;
  const matrix<A> unwritten{nullptr, from, in};
  if (together == 0 || !detail::can_gather(detail::gathering_of_inputs<T>(how, 1, unwritten, y_gradient, weight, {}, 0, 0))) {
    normalized_conv2d_gradients<T> sums = gradients;
    sums.weight = nullptr;
    return detail::normalized_conv2d_backward_reference<T>(how, samples, sums, y_gradient, x, norm, weight);
  }
  detail::for_each_stretch_of_images(
      queue, samples, from, [&](std::size_t first, std::size_t count, std::size_t stretch, std::span<std::byte> scratch) {
        const std::size_t rows = count * from;
        const matrix<const T> dy{y_gradient.data + first * to * y_gradient.stride, count * to, how.out_channels,
                                 y_gradient.stride};
        T* const dx = gradients.x == nullptr ? nullptr : gradients.x + first * from * in;
        for (std::size_t begin = 0; begin < in; begin += together) {
          const std::size_t wide = std::min(together, in - begin);
          matrix<A> made{reinterpret_cast<A*>(scratch.data()) + packed, rows, wide};
          if constexpr (!detail::is_narrow<T>)
            if (in_place) made = {dx, rows, in};
          auto all = detail::gathering_of_inputs<T>(how, count, made, dy, weight, {}, 0, 0);
          all.weight += begin;
          all.columns = wide;
          detail::gather_here(all, scratch);
          for (std::size_t at = 0; at < wide; at += detail::most_summed_columns) {
            const std::size_t columns = std::min(detail::most_summed_columns, wide - at), column = begin + at;
            const matrix<A> of_columns{made.data + at, rows, columns, made.stride};
            matrix<T> result{dx == nullptr ? nullptr : dx + column, rows, columns, in};
            if constexpr (!detail::is_narrow<T>) result = of_columns;
            detail::norm_backward_stretch<T>(result, of_columns, {x + first * from * in + column, rows, columns, in},
                                             of_x.from(column), partial + 2 * (in * stretch + column));
          }
        }
      });
  const std::size_t each = detail::images_of_stretch(from), stretches = (samples + each - 1) / each;
  for (std::size_t c = 0; c < in; ++c) {
    double sum = 0, products = 0;
    for (std::size_t s = 0; s < stretches; ++s) {
      sum += static_cast<double>(partial[2 * (s * in + c)]);
      products += static_cast<double>(partial[2 * (s * in + c) + 1]);
    }
    detail::norm_gradients(sum, products, norm, c, gradients.norm_weight, gradients.norm_bias, gradients.statistics);
  }
}

} // namespace cairn::ops

CAIRN_KERNELS_END
