// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/batch_norm/cpu.hpp>
#include <cairn/ops/batch_norm/formula.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>
#include <cairn/ops/elementwise/row_sums.hpp>
#include <cairn/ops/elementwise/widened_row.hpp>
#include <cairn/ops/group_norm/formula.hpp>
#include <cairn/ops/group_norm/group_norm.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The count and mean of a set of numbers, and the sum of squared distances from the mean. join() makes those of the union of
// two sets (Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample variances, 1979).
struct moments {
  double count = 0, mean = 0, squares = 0;

  void join(const moments& other) {
    const double all = count + other.count, apart = other.mean - mean;
    squares += other.squares + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    count = all;
  }
};

// Calls f(begin, columns) for strips that cover the channels [begin, end).
template <class F>
void for_each_strip_of(std::size_t begin, std::size_t end, F&& f) {
  for (; begin < end; begin += strip) f(begin, std::min(strip, end - begin));
}

// Adds up dy and dy (x - m) of one sample, for the channels of a strip.
template <class T>
void sum_gradients(const channel_groups& of, std::size_t sample, std::size_t begin, std::size_t columns, const T* output_gradient,
                   const T* input, const accumulated<T>* means, double* sums, double* products) {
  const std::size_t first = sample * of.pixels * of.channels + begin;
  std::fill_n(sums, columns, 0.0);
  std::fill_n(products, columns, 0.0);
  const matrix<const T> dy{output_gradient + first, of.pixels, columns, of.channels};
  const matrix<const T> x{input + first, of.pixels, columns, of.channels};
  add_widened(add_gradients{}, std::array{sums, products}, std::array{dy, x}, std::array{means});
}

} // namespace cairn::detail

namespace cairn::ops {

// Samples are divided among threads; the result of one does not depend on the others.
template <class T>
void group_norm_forward(cpu::queue& queue, const channel_groups& of, double eps, T* output, accumulated<T>* statistics,
                        const T* input, const T* weight, const T* bias) {
  using wide = accumulated<T>;
  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  detail::for_each_row(
      queue, of.samples, of.pixels * of.channels,
      [&](std::size_t sample) {
        const std::size_t first = sample * of.pixels * of.channels;
        wide* const found = statistics + sample * of.groups * 2;
        detail::moments group;
        detail::for_each_strip_of(0, of.channels, [&](std::size_t begin, std::size_t columns) {
          alignas(64) std::array<double, detail::strip> sums{}, squares{};
          const T* const at = input + first + begin;
          detail::widened_row<T> first_pixel;
          detail::add_widened(detail::add_distances{}, std::array{sums.data(), squares.data()},
                              std::array{matrix<const T>{at, of.pixels, columns, of.channels}},
                              std::array{first_pixel.read(at, columns)});
          const auto count = static_cast<double>(of.pixels);
          for (std::size_t j = 0; j < columns; ++j) {
            const double distance = sums[j] / count, squared = squares[j] - distance * sums[j];
            const detail::moments channel{count, static_cast<double>(at[j]) + distance, squared < 0 ? 0 : squared}; // NaN stays
            if ((begin + j) % of.each() == 0) group = channel;
            else group.join(channel);
            if ((begin + j + 1) % of.each() != 0) continue;
            wide* const of_group = found + (begin + j) / of.each() * 2;
            of_group[0] = static_cast<wide>(group.mean);
            of_group[1] = static_cast<wide>(detail::inverse_deviation(group.squares / group.count, eps));
          }
        });
        detail::for_each_strip_of(0, of.channels, [&](std::size_t begin, std::size_t columns) {
          detail::strip_of<wide> center, factor;
          for (std::size_t j = 0; j < columns; ++j) {
            const wide* const of_group = found + (begin + j) / of.each() * 2;
            center.at[j] = of_group[0];
            factor.at[j] = of_group[1] * static_cast<wide>(weight[begin + j]);
          }
          detail::widened_row<T> added;
          const wide* const shift = added.read(bias + begin, columns);
          for (std::size_t row = 0; row < of.pixels; ++row) {
            const std::size_t at = first + row * of.channels + begin;
            detail::run_mixed<T>(set, detail::center_and_scale{}, columns, detail::written{output + at},
                                 detail::taken{input + at, center.at, factor.at, shift});
          }
        });
      },
      detail::element_part);
}

template <class T>
void group_norm_backward(cpu::queue& queue, const channel_groups& of, T* input_gradient, accumulated<T>* weight_gradient,
                         accumulated<T>* bias_gradient, const T* output_gradient, const T* input,
                         const accumulated<T>* statistics, const T* weight) {
  using wide = accumulated<T>;
  const auto of_channel = [&](std::size_t sample, std::size_t channel) {
    return statistics + (sample * of.groups + channel / of.each()) * 2;
  };
  // The parameters come first: the input gradient may take the place of the output gradient.
  if (weight_gradient != nullptr || bias_gradient != nullptr)
    detail::for_each_strip(queue, of.samples * of.pixels, of.channels, [&](std::size_t begin, std::size_t columns) {
      detail::strip_of<wide> means;
      alignas(64) std::array<double, detail::strip> sums, products, dw{}, db{};
      for (std::size_t sample = 0; sample < of.samples; ++sample) {
        for (std::size_t j = 0; j < columns; ++j) means.at[j] = of_channel(sample, begin + j)[0];
        detail::sum_gradients(of, sample, begin, columns, output_gradient, input, means.at, sums.data(), products.data());
        for (std::size_t j = 0; j < columns; ++j) {
          db[j] += sums[j];
          dw[j] += products[j] * static_cast<double>(of_channel(sample, begin + j)[1]);
        }
      }
      for (std::size_t j = 0; j < columns; ++j) {
        if (bias_gradient != nullptr) bias_gradient[begin + j] = static_cast<wide>(db[j]);
        if (weight_gradient != nullptr) weight_gradient[begin + j] = static_cast<wide>(dw[j]);
      }
    });
  if (input_gradient == nullptr) return;

  const detail::set_for_results<T> set = detail::widest_for_results<T>();
  constexpr std::size_t most = 256; // groups at a time, whose sums are on the stack
  const auto count = static_cast<double>(of.pixels * of.each());
  const auto sample_gradient = [&](std::size_t sample) {
    detail::strip_of<wide> means, factor, shift, slope;
    alignas(64) std::array<double, detail::strip> sums, products;
    for (std::size_t g0 = 0; g0 < of.groups; g0 += most) {
      const std::size_t begin_channel = g0 * of.each(), end_channel = std::min(of.groups, g0 + most) * of.each();
      std::array<double, most> of_sums{}, of_products{};
      detail::for_each_strip_of(begin_channel, end_channel, [&](std::size_t begin, std::size_t columns) {
        for (std::size_t j = 0; j < columns; ++j) means.at[j] = of_channel(sample, begin + j)[0];
        detail::sum_gradients(of, sample, begin, columns, output_gradient, input, means.at, sums.data(), products.data());
        for (std::size_t j = 0; j < columns; ++j) {
          const auto w = static_cast<double>(weight[begin + j]);
          of_sums[(begin + j) / of.each() - g0] += sums[j] * w;
          of_products[(begin + j) / of.each() - g0] += products[j] * w;
        }
      });
      detail::for_each_strip_of(begin_channel, end_channel, [&](std::size_t begin, std::size_t columns) {
        for (std::size_t j = 0; j < columns; ++j) {
          const std::size_t g = (begin + j) / of.each() - g0;
          const wide* const found = of_channel(sample, begin + j);
          const auto inverse = static_cast<double>(found[1]);
          means.at[j] = found[0];
          const detail::group_factors<wide> of_group(inverse, of_sums[g], of_products[g], count);
          factor.at[j] = detail::factor_of<wide>(inverse, weight[begin + j]);
          shift.at[j] = of_group.shift;
          slope.at[j] = of_group.slope;
        }
        for (std::size_t row = 0; row < of.pixels; ++row) {
          const std::size_t at = (sample * of.pixels + row) * of.channels + begin;
          detail::run_mixed<T>(set, detail::group_norm_derivative{}, columns, detail::written{input_gradient + at},
                               detail::taken{output_gradient + at, input + at, means.at, factor.at, shift.at, slope.at});
        }
      });
    }
  };
  detail::for_each_row(queue, of.samples, of.pixels * of.channels, sample_gradient, detail::element_part);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
