// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/group_norm/cpu.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>

namespace cairn {

namespace detail {

// One group of one sample each: element i of it is channel i % each of pixel i / each.
struct group_of_sample {
  channel_groups of;

  CAIRN_DEVICE std::size_t size() const { return of.pixels * of.each(); }
  CAIRN_DEVICE std::size_t channel(std::size_t block, std::size_t i) const {
    return block % of.groups * of.each() + i % of.each();
  }
  CAIRN_DEVICE std::size_t place(std::size_t block, std::size_t i) const {
    return (block / of.groups * of.pixels + i / of.each()) * of.channels + channel(block, i);
  }
};
template <class T>
struct group_norm_of_sample : group_of_sample {
  double eps;
  T *output, *statistics;
  const T *input, *weight, *bias;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t block) const {
    const auto count = static_cast<double>(size());
    const auto x = [&](std::size_t i) { return static_cast<double>(input[place(block, i)]); };
    const double mean = team.sum(size(), x) / count;
    const double square = team.sum(size(), [&](std::size_t i) { return (x(i) - mean) * (x(i) - mean); });
    const T center = static_cast<T>(mean), inverse = static_cast<T>(1 / sqrt(square / count + eps));
    team.once([&] {
      statistics[2 * block] = center;
      statistics[2 * block + 1] = inverse;
    });
    team.each(size(), [&](std::size_t i) {
      T value = input[place(block, i)];
      center_and_scale{}(value, center, inverse * weight[channel(block, i)], bias[channel(block, i)]);
      output[place(block, i)] = value;
    });
  }
};
template <class T>
struct group_norm_gradient_of_sample : group_of_sample {
  T* input_gradient;
  const T *output_gradient, *input, *statistics, *weight;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t block) const {
    const T mean = statistics[2 * block], found = statistics[2 * block + 1];
    const auto count = static_cast<double>(size()), inverse = static_cast<double>(found);
    const auto weighted = [&](std::size_t i) {
      return static_cast<double>(output_gradient[place(block, i)]) * static_cast<double>(weight[channel(block, i)]);
    };
    const double sum = team.sum(size(), weighted);
    const double products = team.sum(size(), [&](std::size_t i) {
      return weighted(i) * (static_cast<double>(input[place(block, i)]) - static_cast<double>(mean));
    });
    const T shift = static_cast<T>(inverse * sum / count), slope = static_cast<T>(inverse * inverse * inverse * products / count);
    team.each(size(), [&](std::size_t i) {
      T value = output_gradient[place(block, i)];
      const T factor = static_cast<T>(inverse * static_cast<double>(weight[channel(block, i)]));
      group_norm_derivative{}(value, input[place(block, i)], mean, factor, shift, slope);
      input_gradient[place(block, i)] = value;
    });
  }
};
// Of weight and bias: rows are the pixels of all samples.
template <class T>
struct group_norm_parameters {
  channel_groups of;
  T *weight_gradient, *bias_gradient;
  const T *output_gradient, *input, *statistics;

  CAIRN_DEVICE void add(std::size_t row, std::size_t channel, double& dw, double& db) const {
    const std::size_t at = row * of.channels + channel;
    const T* const found = statistics + (row / of.pixels * of.groups + channel / of.each()) * 2;
    const auto dy = static_cast<double>(output_gradient[at]);
    dw += dy * (static_cast<double>(input[at]) - static_cast<double>(found[0])) * static_cast<double>(found[1]);
    db += dy;
  }
  CAIRN_DEVICE void finish(std::size_t channel, double dw, double db) const {
    if (bias_gradient != nullptr) bias_gradient[channel] = static_cast<T>(db);
    if (weight_gradient != nullptr) weight_gradient[channel] = static_cast<T>(dw);
  }
};

} // namespace detail

template <std::floating_point T>
void group_norm_forward(cuda::queue& queue, const channel_groups& of, double eps, T* output, T* statistics, const T* input,
                        const T* weight, const T* bias) {
  detail::launch_teams_for(of.pixels * of.each(), queue, "group_norm_forward", of.samples * of.groups,
                           detail::group_norm_of_sample<T>{{of}, eps, output, statistics, input, weight, bias});
}

template <std::floating_point T>
void group_norm_backward(cuda::queue& queue, const channel_groups& of, T* input_gradient, T* weight_gradient, T* bias_gradient,
                         const T* output_gradient, const T* input, const T* statistics, const T* weight) {
  constexpr const char* op = "group_norm_backward";
  // The parameters come first: the input gradient may take the place of the output gradient.
  if (weight_gradient != nullptr || bias_gradient != nullptr)
    detail::sum_columns_then(
        queue, op, of.samples * of.pixels, of.channels,
        detail::group_norm_parameters<T>{of, weight_gradient, bias_gradient, output_gradient, input, statistics});
  if (input_gradient != nullptr)
    detail::launch_teams_for(
        of.pixels * of.each(), queue, op, of.samples * of.groups,
        detail::group_norm_gradient_of_sample<T>{{of}, input_gradient, output_gradient, input, statistics, weight});
}

} // namespace cairn
