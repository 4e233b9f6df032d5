// SPDX-License-Identifier: MIT
// The ops of dense blocks of the device in recording_device.hpp.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/ops.hpp>

#include "recording_device.hpp"

namespace recording {

// The rows of a matrix, between which others may lie.
template <class T>
std::vector<range> rows_of(cairn::ops::matrix<T> m) {
  std::vector<range> rows;
  for (std::size_t r = 0; m.data != nullptr && r < m.rows; ++r) rows.push_back(span_of(m.data + r * m.stride, m.columns));
  return rows;
}
inline std::vector<range> joined(std::vector<range> spans, std::initializer_list<std::vector<range>> maps) {
  for (const auto& rows : maps) spans.insert(spans.end(), rows.begin(), rows.end());
  return spans;
}
template <class T>
range span_of_mean(const cairn::ops::channel_norm<T>& norm, std::size_t channels) {
  return span_of(norm.mean, (channels - 1) * norm.step + 1);
}
template <class T>
range span_of_variance(const cairn::ops::channel_norm<T>& norm, std::size_t channels) {
  return span_of(norm.variance, (channels - 1) * norm.step + 1);
}

template <class T>
void channel_statistics(queue& q, cairn::ops::matrix<const T> x, T* statistics) {
  q.put("channel_statistics", joined({span_of(statistics, 2 * x.columns)}, {rows_of(x)}));
  cairn::ops::channel_statistics(q.real(), x, statistics);
}
template <class T>
void channel_statistics_backward(queue& q, cairn::ops::matrix<T> dx, std::type_identity_t<cairn::ops::matrix<const T>> dy,
                                 std::type_identity_t<cairn::ops::matrix<const T>> x, const T* statistics, const T* gradient) {
  q.put("channel_statistics_backward",
        joined({span_of(statistics, 2 * x.columns), span_of(gradient, 2 * x.columns)}, {rows_of(dx), rows_of(dy), rows_of(x)}));
  cairn::ops::channel_statistics_backward(q.real(), dx, dy, x, statistics, gradient);
}
template <class T>
void channel_statistics_update(queue& q, std::size_t rows, std::size_t channels, double momentum, T* running_mean,
                               T* running_variance, const T* statistics) {
  q.put("channel_statistics_update",
        joined({span_of(running_mean, channels), span_of(running_variance, channels), span_of(statistics, 2 * channels)}, {}));
  cairn::ops::channel_statistics_update(q.real(), rows, channels, momentum, running_mean, running_variance, statistics);
}
template <class T>
void normalized_product_forward(queue& q, cairn::ops::matrix<T> h, T* statistics,
                                std::type_identity_t<cairn::ops::matrix<const T>> x, const cairn::ops::channel_norm<T>& norm,
                                const T* weight, const cairn::ops::normalized_product_memory<T>& memory) {
  const auto room = cairn::ops::room_of_normalized_product(x.rows, x.columns, h.columns);
  q.put("normalized_product_forward",
        joined({span_of(statistics, 2 * h.columns), span_of(memory.weight, room.weight), span_of(memory.scales, room.scales),
                span_of(memory.partial, room.partial), span_of_mean(norm, x.columns), span_of_variance(norm, x.columns),
                span_of(norm.weight, x.columns), span_of(norm.bias, x.columns), span_of(weight, h.columns * x.columns)},
               {rows_of(h), rows_of(x)}));
  cairn::ops::normalized_product_forward(q.real(), h, statistics, x, norm, weight, memory);
}
template <class T>
void normalized_product_backward(queue& q, const cairn::ops::normalized_product_gradients<T>& to,
                                 std::type_identity_t<cairn::ops::matrix<const T>> h_gradient,
                                 std::type_identity_t<cairn::ops::matrix<const T>> h, const T* h_statistics,
                                 const T* h_statistics_gradient, std::type_identity_t<cairn::ops::matrix<const T>> x,
                                 const cairn::ops::channel_norm<T>& norm, const T* weight, T* scales) {
  const std::size_t in = x.columns, out = h.columns;
  q.put("normalized_product_backward",
        joined({span_of(to.statistics, 2 * in), span_of(to.norm_weight, in), span_of(to.norm_bias, in),
                span_of(to.weight, out * in), span_of(scales, 3 * (in + out)), span_of(h_statistics, 2 * out),
                span_of(h_statistics_gradient, 2 * out), span_of_mean(norm, in), span_of_variance(norm, in),
                span_of(norm.weight, in), span_of(norm.bias, in), span_of(weight, out * in)},
               {rows_of(to.x), rows_of(to.addend), rows_of(h_gradient), rows_of(h), rows_of(x)}));
  cairn::ops::normalized_product_backward(q.real(), to, h_gradient, h, h_statistics, h_statistics_gradient, x, norm, weight,
                                          scales);
}
template <class T>
void normalized_conv2d_forward(queue& q, const cairn::ops::convolution& how, std::size_t samples, cairn::ops::matrix<T> y,
                               T* statistics, const T* x, const cairn::ops::channel_norm<T>& norm, const T* weight, T* scales,
                               T* partial) {
  const std::size_t in = how.in_channels, out = how.out_channels;
  q.put("normalized_conv2d_forward",
        joined({span_of(statistics, 2 * out), span_of(scales, 3 * in), span_of(partial, 2 * out * samples),
                span_of(x, samples * how.over.inputs() * in), span_of_mean(norm, in), span_of_variance(norm, in),
                span_of(norm.weight, in), span_of(norm.bias, in), span_of(weight, out * how.depth())},
               {rows_of(y)}));
  cairn::ops::normalized_conv2d_forward(q.real(), how, samples, y, statistics, x, norm, weight, scales, partial);
}
template <class T>
void normalized_conv2d_backward(queue& q, const cairn::ops::convolution& how, std::size_t samples,
                                const cairn::ops::normalized_conv2d_gradients<T>& to,
                                std::type_identity_t<cairn::ops::matrix<const T>> y_gradient, const T* x,
                                const cairn::ops::channel_norm<T>& norm, const T* weight, T* scales, T* partial) {
  const std::size_t in = how.in_channels, weights = how.out_channels * how.depth();
  const std::size_t map = samples * how.over.inputs() * in;
  q.put("normalized_conv2d_backward",
        joined({span_of(to.x, map), span_of(to.statistics, 2 * in), span_of(to.norm_weight, in), span_of(to.norm_bias, in),
                span_of(to.weight, weights), span_of(scales, 3 * in), span_of(partial, 2 * in * samples), span_of(x, map),
                span_of_mean(norm, in), span_of_variance(norm, in), span_of(norm.weight, in), span_of(norm.bias, in),
                span_of(weight, weights)},
               {rows_of(y_gradient)}));
  cairn::ops::normalized_conv2d_backward(q.real(), how, samples, to, y_gradient, x, norm, weight, scales, partial);
}

} // namespace recording
