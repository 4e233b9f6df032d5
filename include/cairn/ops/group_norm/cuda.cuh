// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/batch_norm/formula.hpp>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/group_norm/formula.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>
#include <cairn/ops/layer_norm/formula.hpp>

namespace cairn::detail {

// One group of one sample per team: its element i is channel i % each of pixel i / each.
struct group_of_sample {
  channel_groups of;
  divisor groups, each;
  bool aligned; // all arrays, and each group of each pixel

  group_of_sample(const channel_groups& what, bool are_aligned)
      : of(what), groups(what.groups), each(what.each()), aligned(are_aligned) {}

  CAIRN_DEVICE std::size_t size() const { return of.pixels * each.by(); }
  // The start of the group in an array over all elements, and in one over channels.
  template <class P>
  CAIRN_DEVICE P* elements(P* all, std::size_t block) const {
    const std::size_t sample = groups.of(block);
    return all + sample * of.pixels * of.channels + groups.rest(block, sample) * each.by();
  }
  template <class P>
  CAIRN_DEVICE P* channels(P* all, std::size_t block) const {
    return all + groups.rest(block, groups.of(block)) * each.by();
  }
  // Loads elements i, i + 1, ... of the group, as many as a quad has.
  template <class T>
  CAIRN_DEVICE wide_quad<T> load(const T* elements, std::size_t i) const {
    std::size_t pixel = each.of(i), channel = each.rest(i, pixel);
    if (aligned) return load_wide(elements + pixel * of.channels, channel, each.by(), true);
    wide_quad<T> v{};
    for (std::size_t j = 0; j < quad_width<T> && pixel < of.pixels; ++j) {
      v.at[j] = widened(elements[pixel * of.channels + channel]);
      if (++channel == each.by()) channel = 0, ++pixel;
    }
    return v;
  }
  template <class T>
  CAIRN_DEVICE wide_quad<T> load_channels(const T* channels, std::size_t i) const {
    std::size_t channel = each.rest(i, each.of(i));
    if (aligned) return load_wide(channels, channel, each.by(), true);
    wide_quad<T> v{};
    for (std::size_t j = 0; j < quad_width<T>; ++j) {
      v.at[j] = widened(channels[channel]);
      if (++channel == each.by()) channel = 0;
    }
    return v;
  }
  template <class T>
  CAIRN_DEVICE void store(T* elements, const wide_quad<T>& v, std::size_t i) const {
    std::size_t pixel = each.of(i), channel = each.rest(i, pixel);
    if (aligned) return store_wide(elements + pixel * of.channels, v, channel, each.by(), true);
    for (std::size_t j = 0; j < quad_width<T> && pixel < of.pixels; ++j) {
      elements[pixel * of.channels + channel] = static_cast<T>(v.at[j]);
      if (++channel == each.by()) channel = 0, ++pixel;
    }
  }
};
// Like layer_norm_row: distances are of the type of sums, and their sums are doubles.
template <class T>
struct group_norm_of_sample : group_of_sample {
  using wide = accumulated<T>;

  double eps;
  T* output;
  wide* statistics;
  const T *input, *weight, *bias;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t block) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(size());
    const T *const x = elements(input, block), *const by = channels(weight, block), *const to = channels(bias, block);
    const auto count = static_cast<double>(size());
    const wide first = widened(x[0]);
    const auto add_distances = [&](std::size_t q, wide(&sum)[1]) {
      const wide_quad<T> v = load(x, q * width);
      for (std::size_t j = 0; j < width; ++j) sum[0] += q * width + j < size() ? v.at[j] - first : wide{0};
    };
    const double distance = team.template sums_over_quads<wide, 1>(quads, add_distances).at[0] / count;
    const wide rest = static_cast<wide>(distance);
    const auto add_squares = [&](std::size_t q, wide(&sum)[1]) {
      const wide_quad<T> v = load(x, q * width);
      for (std::size_t j = 0; j < width; ++j) {
        const wide apart = q * width + j < size() ? v.at[j] - first - rest : wide{0};
        sum[0] += apart * apart;
      }
    };
    const double square = team.template sums_over_quads<wide, 1>(quads, add_squares).at[0];
    const statistics_of_row<wide> found = statistics_from<wide>(static_cast<double>(first) + distance, square, count, eps);
    team.once([&] {
      statistics[2 * block] = found.mean;
      statistics[2 * block + 1] = found.inverse;
    });
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> v = load(x, q * width);
      const wide_quad<T> w = load_channels(by, q * width), shift = load_channels(to, q * width);
      for (std::size_t j = 0; j < width; ++j) center_and_scale{}(v.at[j], found.mean, found.inverse * w.at[j], shift.at[j]);
      store(elements(output, block), v, q * width);
    });
  }
};
template <class T>
struct group_norm_gradient_of_sample : group_of_sample {
  using wide = accumulated<T>;

  T* input_gradient;
  const T *output_gradient, *input;
  const wide* statistics;
  const T* weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t block) const {
    constexpr std::size_t width = quad_width<T>;
    const std::size_t quads = quads_for<T>(size());
    const T *const dy = elements(output_gradient, block), *const x = elements(input, block), *const w = channels(weight, block);
    const wide mean = statistics[2 * block], found = statistics[2 * block + 1];
    const auto count = static_cast<double>(size()), inverse = static_cast<double>(found);
    const auto add = [&](std::size_t q, wide(&sums)[2]) { // beyond the last element dy is 0
      const wide_quad<T> g = load(dy, q * width), v = load(x, q * width), by = load_channels(w, q * width);
      for (std::size_t j = 0; j < width; ++j) {
        const wide weighted = g.at[j] * by.at[j];
        sums[0] += weighted;
        sums[1] += weighted * (v.at[j] - mean);
      }
    };
    const sums_of<2> sums = team.template sums_over_quads<wide, 2>(quads, add);
    const group_factors<wide> by_group(inverse, sums.at[0], sums.at[1], count);
    team.each(quads, [&](std::size_t q) {
      wide_quad<T> g = load(dy, q * width);
      const wide_quad<T> v = load(x, q * width), by = load_channels(w, q * width);
      for (std::size_t j = 0; j < width; ++j)
        group_norm_derivative{}(g.at[j], v.at[j], mean, found * by.at[j], by_group.shift, by_group.slope);
      store(elements(input_gradient, block), g, q * width);
    });
  }
};
// The gradients of weight and bias; rows are the pixels of all samples.
template <class T>
struct group_norm_parameters {
  using wide = accumulated<T>;

  channel_groups of;
  divisor pixels, each;
  wide *weight_gradient, *bias_gradient;
  const T *output_gradient, *input;
  const wide* statistics;

  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t channel, double& dw, double& db) const {
    const std::size_t group = each.of(channel);
    wide weights = 0, biases = 0;
    for (; row < end; ++row) {
      const std::size_t at = row * of.channels + channel;
      const wide* const found = statistics + (pixels.of(row) * of.groups + group) * 2;
      normalize_parameters_derivative<wide>{{found[0], found[1]}}(weights, biases, widened(output_gradient[at]),
                                                                  widened(input[at]));
    }
    dw += static_cast<double>(weights);
    db += static_cast<double>(biases);
  }
  CAIRN_DEVICE void finish(std::size_t channel, double dw, double db) const {
    if (bias_gradient != nullptr) bias_gradient[channel] = static_cast<wide>(db);
    if (weight_gradient != nullptr) weight_gradient[channel] = static_cast<wide>(dw);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void group_norm_forward(cuda::queue& queue, const channel_groups& of, double eps, T* output, accumulated<T>* statistics,
                        const T* input, const T* weight, const T* bias) {
  const bool aligned = detail::rows_are_quads<T>(of.each(), output, input, weight, bias);
  detail::launch_teams_for(of.pixels * of.each() / 2, queue, "group_norm_forward", of.samples * of.groups,
                           detail::group_norm_of_sample<T>{{of, aligned}, eps, output, statistics, input, weight, bias});
}

template <detail::floating_element T>
void group_norm_backward(cuda::queue& queue, const channel_groups& of, T* input_gradient, accumulated<T>* weight_gradient,
                         accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  constexpr const char* op = "group_norm_backward";
  // The parameters come first: the input gradient may take the place of the output gradient.
  if (weight_gradient != nullptr || bias_gradient != nullptr)
    detail::sum_columns_then(queue, op, of.samples * of.pixels, of.channels,
                             detail::group_norm_parameters<T>{of, of.pixels, of.each(), weight_gradient, bias_gradient,
                                                              output_gradient, input, statistics});
  const bool aligned = detail::rows_are_quads<T>(of.each(), input_gradient, output_gradient, input, weight);
  if (input_gradient != nullptr)
    detail::launch_teams_for(
        of.pixels * of.each() / 2, queue, op, of.samples * of.groups,
        detail::group_norm_gradient_of_sample<T>{{of, aligned}, input_gradient, output_gradient, input, statistics, weight});
}

} // namespace cairn::ops
