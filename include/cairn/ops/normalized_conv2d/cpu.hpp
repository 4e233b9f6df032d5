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

// Runs all tiles of a gathering in the calling thread.
template <class T>
void gather_here(const gathering<T>& all, std::span<std::byte> scratch) {
  const gather_tiles tiles = tiles_of(all, all.samples);
  gather_for(widest_instruction_set(), all, tiles, 0, tiles.count(all.samples), scratch);
}

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void normalized_conv2d_forward(cpu::queue& queue, const convolution& how, std::size_t samples, matrix<T> y,
                               std::type_identity_t<accumulated<T>>* statistics, const std::type_identity_t<T>* x,
                               const std::type_identity_t<channel_norm<T>>& norm, const std::type_identity_t<T>* weight,
                               std::type_identity_t<T>* scales, std::type_identity_t<accumulated<T>>* partial) {
  const std::size_t from = how.over.inputs(), to = how.over.outputs(), out = how.out_channels;
  const detail::channel_scales<T> of_x(scales, how.in_channels, norm);
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
                                const std::type_identity_t<T>* weight, std::type_identity_t<T>* scales,
                                std::type_identity_t<accumulated<T>>* partial) {
  using A = accumulated<T>;
  const std::size_t from = how.over.inputs(), to = how.over.outputs(), in = how.in_channels;
  const detail::channel_scales<T> of_x(scales, in, norm);
  if (gradients.weight != nullptr)
    detail::sum_weights_on(queue, detail::widest_instruction_set(), how, samples, gradients.weight, y_gradient, x, of_x);
  if (gradients.x == nullptr && gradients.statistics == nullptr && gradients.norm_weight == nullptr &&
      gradients.norm_bias == nullptr)
    return;
  // If the gradient of x is not wanted, it is made in the scratch, a stretch at a time. A map too wide for that takes the slow
  // reference.
  constexpr std::size_t packed = detail::gather_room<T>::whole;
  if (gradients.x == nullptr && packed + detail::images_of_stretch(from) * from * in > cpu::queue::scratch_bytes / sizeof(T)) {
    normalized_conv2d_gradients<T> sums = gradients;
    sums.weight = nullptr;
    return detail::normalized_conv2d_backward_reference<T>(how, samples, sums, y_gradient, x, norm, weight);
  }
  detail::for_each_stretch_of_images(
      queue, samples, from, [&](std::size_t first, std::size_t count, std::size_t stretch, std::span<std::byte> scratch) {
        T* const made = gradients.x != nullptr ? gradients.x + first * from * in : reinterpret_cast<T*>(scratch.data()) + packed;
        const matrix<T> dx{made, count * from, in};
        const matrix<const T> dy{y_gradient.data + first * to * y_gradient.stride, count * to, how.out_channels,
                                 y_gradient.stride};
        detail::gather_here(detail::gathering_of_inputs<T>(how, count, dx, dy, weight, {}, 0, 0), scratch);
        const matrix<const T> own{x + first * from * in, count * from, in};
        A* const sums = partial + 2 * in * stretch;
        for (std::size_t begin = 0; begin < in; begin += detail::most_summed_columns) {
          const std::size_t columns = std::min(detail::most_summed_columns, in - begin);
          detail::two_chains<T> of_stretch;
          const auto at = [&](auto m) {
            m.data += begin;
            m.columns = columns;
            return m;
          };
          detail::run_tile(
              detail::norm_backward_tile<T, false, false>{at(dx), at(dx), at(own), {}, of_x.from(begin), &of_stretch});
          for (std::size_t j = 0; j < columns; ++j) {
            sums[2 * (begin + j)] = static_cast<A>(of_stretch.first[j]);
            sums[2 * (begin + j) + 1] = static_cast<A>(of_stretch.second[j]);
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
