// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/batch_norm/formula.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/group_norm/cpu.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>
#include <cairn/ops/layer_norm/formula.hpp>

CAIRN_KERNELS_BEGIN

// 16-bit elements: computed in float, one element at a time, with sums in double. Each result is rounded once, when it is
// written.

namespace cairn::detail {

// Calls f(place, channel) for all elements of one group of a sample.
template <class F>
void for_each_of_group(const channel_groups& of, std::size_t group, F&& f) {
  const std::size_t sample = group / of.groups, begin = group % of.groups * of.each();
  for (std::size_t row = 0; row < of.pixels; ++row)
    for (std::size_t c = begin; c < begin + of.each(); ++c) f((sample * of.pixels + row) * of.channels + c, c);
}

} // namespace cairn::detail

namespace cairn::ops {

template <detail::narrow_element T>
void group_norm_forward(cpu::queue& queue, const channel_groups& of, double eps, T* output, accumulated<T>* statistics,
                        const T* input, const T* weight, const T* bias) {
  using wide = accumulated<T>;
  const std::size_t each = of.pixels * of.each();
  detail::for_each_row(queue, of.samples * of.groups, each, [&](std::size_t group) {
    double sum = 0, squares = 0;
    detail::for_each_of_group(of, group, [&](std::size_t at, std::size_t) { sum += static_cast<double>(input[at]); });
    const double mean = sum / static_cast<double>(each);
    detail::for_each_of_group(of, group, [&](std::size_t at, std::size_t) {
      const double distance = static_cast<double>(input[at]) - mean;
      squares += distance * distance;
    });
    const auto found = detail::statistics_from<wide>(mean, squares, static_cast<double>(each), eps);
    statistics[2 * group] = found.mean;
    statistics[2 * group + 1] = found.inverse;
    detail::for_each_of_group(of, group, [&](std::size_t at, std::size_t c) {
      auto y = static_cast<wide>(input[at]);
      detail::center_and_scale{}(y, found.mean, found.inverse * static_cast<wide>(weight[c]), static_cast<wide>(bias[c]));
      output[at] = static_cast<T>(y);
    });
  });
}

template <detail::narrow_element T>
void group_norm_backward(cpu::queue& queue, const channel_groups& of, T* input_gradient, accumulated<T>* weight_gradient,
                         accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  using wide = accumulated<T>;
  // The parameters come first: the input gradient may take the place of the output gradient.
  const bool learns = weight_gradient != nullptr || bias_gradient != nullptr;
  detail::for_each_row(queue, learns ? of.channels : 0, of.samples * of.pixels, [&](std::size_t c) {
    double dw = 0, db = 0;
    for (std::size_t row = 0; row < of.samples * of.pixels; ++row) {
      const wide* const found = statistics + (row / of.pixels * of.groups + c / of.each()) * 2;
      const auto dy = static_cast<double>(output_gradient[row * of.channels + c]);
      const detail::statistics_of_row<wide> of_group{found[0], found[1]};
      dw += dy * static_cast<double>(of_group.normal(static_cast<wide>(input[row * of.channels + c])));
      db += dy;
    }
    if (weight_gradient != nullptr) weight_gradient[c] = static_cast<wide>(dw);
    if (bias_gradient != nullptr) bias_gradient[c] = static_cast<wide>(db);
  });
  const std::size_t each = of.pixels * of.each();
  detail::for_each_row(queue, input_gradient == nullptr ? 0 : of.samples * of.groups, each, [&](std::size_t group) {
    const detail::statistics_of_row<wide> found{statistics[2 * group], statistics[2 * group + 1]};
    double sum = 0, product = 0;
    detail::for_each_of_group(of, group, [&](std::size_t at, std::size_t c) {
      const double weighted = static_cast<double>(output_gradient[at]) * static_cast<double>(weight[c]);
      sum += weighted;
      product += weighted * static_cast<double>(found.normal(static_cast<wide>(input[at])));
    });
    const detail::normalize_derivative<wide> f{found, static_cast<wide>(sum / static_cast<double>(each)),
                                               static_cast<wide>(product / static_cast<double>(each))};
    detail::for_each_of_group(of, group, [&](std::size_t at, std::size_t c) {
      auto dx = static_cast<wide>(output_gradient[at]);
      f(dx, static_cast<wide>(input[at]), static_cast<wide>(weight[c]));
      input_gradient[at] = static_cast<T>(dx);
    });
  });
}

} // namespace cairn::ops

CAIRN_KERNELS_END
