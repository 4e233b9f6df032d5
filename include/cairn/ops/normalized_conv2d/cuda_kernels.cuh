// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/batch_norm/formula.hpp>
#include <cairn/ops/channel_statistics/cuda.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/elementwise/cuda_pixels.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>

// A norm of the channels, a ReLU and a convolution, with a thread or a team for each element of the result: the normalised map
// is computed where it is read, so that no memory is needed for it. A product is a convolution of one image, a row of pixels,
// with one tap.
namespace cairn::detail {

// Sums over channels: products are summed in the type of sums over at most channels_of_chain channels, and these sums in double.
inline constexpr std::size_t channels_of_chain = 16;

// The sum of x(c) y(c) over the channels [0, count).
template <class X, class Y>
CAIRN_DEVICE double sum_of_channels(std::size_t count, const X& x, const Y& y) {
  double sum = 0;
  for (std::size_t c = 0; c < count;) {
    const std::size_t end = c + channels_of_chain < count ? c + channels_of_chain : count;
    auto some = x(c) * y(c);
    for (++c; c < end; ++c) some += x(c) * y(c);
    sum += static_cast<double>(some);
  }
  return sum;
}

// The map that a norm is applied to, and the value of the norm at one element before the ReLU.
template <class T>
struct normalized_map {
  using wide = accumulated<T>;
  matrix<const T> x;
  channel_norm<T> norm;
  const wide* factor; // of each channel: weight / sqrt(variance + eps)
  CAIRN_DEVICE wide distance(std::size_t row, std::size_t c) const { return widened(x(row, c)) - norm.mean[norm.step * c]; }
  CAIRN_DEVICE wide value(std::size_t row, std::size_t c) const { return distance(row, c) * factor[c] + widened(norm.bias[c]); }
  CAIRN_DEVICE wide positive(std::size_t row, std::size_t c) const {
    const wide v = value(row, c);
    return v < wide{0} ? wide{0} : v; // NaN stays
  }
};
template <class T>
struct norm_factors {
  channel_norm<T> norm;
  accumulated<T>* factor;
  CAIRN_DEVICE void operator()(std::size_t c) const {
    factor[c] = factor_of<accumulated<T>>(inverse_deviation(norm.variance[norm.step * c], norm.eps), widened(norm.weight[c]));
  }
};

template <class T>
struct convolve_normalized {
  convolution how;
  divisor channels, columns, pixels; // output channels, pixels of a row, of an image
  matrix<T> y;
  normalized_map<T> map;
  const T* weight;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const window_axis &down = how.over.y, &across = how.over.x;
    const std::size_t pixel = channels.of(at), o = channels.rest(at, pixel), image = pixels.of(pixel);
    const std::size_t row = columns.of(pixels.rest(pixel, image)), column = columns.rest(pixels.rest(pixel, image), row);
    double sum = 0;
    for (std::size_t i = 0; i < down.kernel; ++i)
      for (std::size_t j = 0; j < across.kernel; ++j) {
        const std::size_t r = down.input(row, i), c = across.input(column, j);
        if (r >= down.in || c >= across.in) continue;
        const std::size_t from = (image * down.in + r) * across.in + c;
        const T* const by = weight + ((o * down.kernel + i) * across.kernel + j) * how.in_channels;
        sum += sum_of_channels(
            how.in_channels, [this, from](std::size_t k) { return map.positive(from, k); },
            [by](std::size_t k) { return widened(by[k]); });
      }
    y(pixel, o) = static_cast<T>(static_cast<accumulated<T>>(sum));
  }
};

// The gradient of the norm's output at one element, where the ReLU lets it pass.
template <class T>
struct gradient_of_normalized {
  using wide = accumulated<T>;
  convolution how;
  divisor columns, pixels, taps_of_row; // input pixels of a row, of an image
  readers_of_axis down, across;
  gradient_of_map<T> dy;
  normalized_map<T> map;
  const T* weight;
  CAIRN_DEVICE wide operator()(std::size_t pixel, std::size_t c) const {
    if (map.value(pixel, c) <= wide{0}) return wide{0};
    const std::size_t image = pixels.of(pixel), row = columns.of(pixels.rest(pixel, image));
    const std::size_t column = columns.rest(pixels.rest(pixel, image), row), apart = how.over.taps() * how.in_channels;
    double sum = 0;
    for (std::size_t tap = 0; tap < how.over.taps(); ++tap) {
      const std::size_t i = taps_of_row.of(tap), p = down.at(row, i), q = across.at(column, taps_of_row.rest(tap, i));
      if (p >= down.axis.out || q >= across.axis.out) continue;
      const std::size_t to = (image * down.axis.out + p) * across.axis.out + q;
      const T* const by = weight + tap * how.in_channels + c;
      for (std::size_t o = 0; o < how.out_channels;) { // as sum_of_channels() adds
        const std::size_t end = o + channels_of_chain < how.out_channels ? o + channels_of_chain : how.out_channels;
        wide some = dy(to, o) * widened(by[o * apart]);
#ifdef __CUDACC__
#pragma unroll 1 // several steps at a time have more values than there are registers
#endif
        for (++o; o < end; ++o) some += dy(to, o) * widened(by[o * apart]);
        sum += static_cast<double>(some);
      }
    }
    return static_cast<wide>(sum);
  }
};
// The sums of a channel over all pixels, and the gradients that they are. Each pointer may be null.
template <class T>
struct norm_gradient_sums {
  using wide = accumulated<T>;
  gradient_of_normalized<T> of;
  wide *of_weight, *of_bias, *of_statistics;
  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t c, double& sum, double& products) const {
    wide some = 0, of_products = 0;
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (; row < end; ++row) {
      const wide m = of(row, c);
      some += m;
      of_products += m * of.map.distance(row, c);
    }
    sum += static_cast<double>(some);
    products += static_cast<double>(of_products);
  }
  CAIRN_DEVICE void finish(std::size_t c, double sum, double products) const {
    const channel_norm<T>& norm = of.map.norm;
    const double inverse = inverse_deviation(norm.variance[norm.step * c], norm.eps);
    const double by = static_cast<double>(widened(norm.weight[c]));
    if (of_weight != nullptr) of_weight[c] = static_cast<wide>(products * inverse);
    if (of_bias != nullptr) of_bias[c] = static_cast<wide>(sum);
    if (of_statistics == nullptr) return;
    of_statistics[2 * c] = static_cast<wide>(-by * inverse * sum);
    of_statistics[2 * c + 1] = static_cast<wide>(-0.5 * by * inverse * inverse * inverse * products);
  }
};
// dx = addend + factor m. The addend may be dx itself.
template <class T>
struct norm_input_gradient {
  gradient_of_normalized<T> of;
  divisor channels;
  matrix<T> dx;
  matrix<const T> addend;
  CAIRN_DEVICE void operator()(std::size_t at) const {
    const std::size_t row = channels.of(at), c = channels.rest(at, row);
    const accumulated<T> v = of.map.factor[c] * of(row, c);
    dx(row, c) = static_cast<T>(addend.data == nullptr ? v : v + widened(addend(row, c)));
  }
};
// One weight per team, summed over the pixels of all outputs as sums_over_quads() adds.
template <class T>
struct normalized_weight {
  using wide = accumulated<T>;
  convolution how;
  divisor in, taps, kernel, pixels, columns; // channels, taps of a window and of its rows; pixels of an image and of its rows
  std::size_t count;                         // of pixels
  wide* weight_gradient;
  gradient_of_map<T> dy;
  normalized_map<T> map;
  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t at) const {
    const window_axis &down = how.over.y, &across = how.over.x;
    const std::size_t place = in.of(at), c = in.rest(at, place), o = taps.of(place), tap = taps.rest(place, o);
    const std::size_t i = kernel.of(tap), j = kernel.rest(tap, i);
    const auto add = [&](std::size_t pixel, wide(&sum)[1]) {
      const std::size_t image = pixels.of(pixel), own = pixels.rest(pixel, image), p = columns.of(own);
      const std::size_t row = down.input(p, i), column = across.input(columns.rest(own, p), j);
      if (row >= down.in || column >= across.in) return;
      sum[0] += dy(pixel, o) * map.positive((image * down.in + row) * across.in + column, c);
    };
    const double sum = team.template sums_over_quads<wide, 1>(count, add).at[0];
    team.once([&] { weight_gradient[at] = static_cast<wide>(sum); });
  }
};

template <class T>
void normalized_forward(cuda::queue& queue, const char* op, const convolution& how, matrix<T> y, matrix<const T> x,
                        const channel_norm<T>& norm, const T* weight, accumulated<T>* factor, accumulated<T>* statistics) {
  launch_each(queue, op, x.columns, norm_factors<T>{norm, factor});
  launch_each(queue, op, y.rows * y.columns,
              convolve_normalized<T>{how, y.columns, how.over.x.out, how.over.outputs(), y, {x, norm, factor}, weight});
  if (statistics != nullptr) channel_statistics(queue, matrix<const T>(y), statistics);
}

// All gradients are pointers, or matrices without data where they are not wanted.
template <class T>
struct normalized_targets {
  matrix<T> x;
  matrix<const T> addend;
  accumulated<T>*statistics, *norm_weight, *norm_bias, *weight;
};
template <class T>
void normalized_backward(cuda::queue& queue, const char* op, const convolution& how, const normalized_targets<T>& to,
                         const gradient_of_map<T>& dy, matrix<const T> x, const channel_norm<T>& norm, const T* weight,
                         accumulated<T>* factor) {
  launch_each(queue, op, x.columns, norm_factors<T>{norm, factor});
  const normalized_map<T> map{x, norm, factor};
  const std::size_t outputs = how.over.outputs(), pixels = how.over.inputs() == 0 ? 0 : x.rows / how.over.inputs() * outputs;
  if (to.weight != nullptr)
    launch_teams_for(pixels, queue, op, how.out_channels * how.over.taps() * x.columns,
                     normalized_weight<T>{how, x.columns, how.over.taps(), how.over.x.kernel, outputs, how.over.x.out, pixels,
                                          to.weight, dy, map});
  const gradient_of_normalized<T> of{how, how.over.x.in, how.over.inputs(), how.over.x.kernel, how.over.y, how.over.x, dy,
                                     map, weight};
  if (to.statistics != nullptr || to.norm_weight != nullptr || to.norm_bias != nullptr)
    sum_columns_then(queue, op, x.rows, x.columns, norm_gradient_sums<T>{of, to.norm_weight, to.norm_bias, to.statistics});
  if (to.x.data != nullptr) launch_each(queue, op, x.rows * x.columns, norm_input_gradient<T>{of, x.columns, to.x, to.addend});
}

} // namespace cairn::detail
