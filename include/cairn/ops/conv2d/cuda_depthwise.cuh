// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/conv2d/conv2d.hpp>
#include <cairn/ops/conv2d/cuda_taps.cuh>
#include <cairn/ops/matmul/cuda_epilogue.cuh>

namespace cairn::detail {

// Convolutions whose groups have one input channel: neighbouring threads have neighbouring channels, and the time is that of the
// memory.

// The output, or with Back the input gradient. A thread has four results of a row, which share the weights; products are added in
// the type of sums, over taps row by row, and in the input gradient for each tap over the output channels of the group.
template <class T, bool Back>
struct convolve_depthwise {
  static constexpr std::uint32_t at_once = 4;
  small_axis down, across;
  divisor channels, strips, rows, images, classes; // of the result; of a row, of an image; images in a class; classes of a row
  divisor group;                                   // output channels of a group
  std::uint32_t taps, source_bytes;                // to the next pixel of the source
  matrix<T> result;
  const T *source, *weight;
  epilogue<T> then;

  convolve_depthwise(const convolution& how, std::size_t samples, matrix<T> to, matrix<const T> from, const T* by,
                     const epilogue<T>& what)
      : down(how.over.y), across(how.over.x), channels(Back ? how.in_channels : how.out_channels),
        strips(((Back ? across.results_of_class() : across.out) + at_once - 1) / at_once),
        rows(Back ? down.results_of_class() : down.out), images(samples), classes(Back ? across.stride : 1),
        group(how.group_out()), taps(static_cast<std::uint32_t>(how.over.taps())),
        source_bytes(static_cast<std::uint32_t>(from.stride * sizeof(T))), result(to), source(from.data), weight(by), then(what) {
  }
  std::size_t threads() const {
    return channels.by() * strips.by() * rows.by() * images.by() * classes.by() * (Back ? down.stride : 1);
  }

  CAIRN_DEVICE void operator()(std::size_t index) const {
    const std::size_t place = channels.of(index), channel = channels.rest(index, place);
    const auto c = static_cast<std::uint32_t>(channel), part = static_cast<std::uint32_t>(place);
    const std::uint32_t line = strips.of_small(part), v = (part - line * strips.small()) * at_once;
    const std::uint32_t image_of_class = rows.of_small(line), u = line - image_of_class * rows.small();
    const std::uint32_t which = images.of_small(image_of_class), image = image_of_class - which * images.small();
    const std::uint32_t class_y = classes.of_small(which), class_x = which - class_y * classes.small();
    const taps_of_axis y = Back ? down.of_inputs(class_y) : down.of_outputs();
    const taps_of_axis x = Back ? across.of_inputs(class_x) : across.of_outputs();
    const std::uint32_t others = Back ? group.small() : 1, o = Back ? c * others : c;
    const T* const from = source + (Back ? o : group.of_small(c));
    accumulated<T> sum[at_once] = {};
    for (std::uint32_t a = 0; a < y.taps; ++a) {
      const std::uint32_t row = u * y.scale + y.offset + a * y.step;
      if (row >= y.extent) continue;
      const std::uint32_t first = (image * y.extent + row) * x.extent;
      for (std::uint32_t b = 0; b < x.taps; ++b) {
        const T* by = weight + (o * taps + (y.first + a * y.period) * across.kernel + x.first + b * x.period);
        for (std::uint32_t other = 0; other < others; ++other, by += taps) {
          const accumulated<T> factor = widened(*by);
          CAIRN_UNROLL_DEVICE
          for (std::uint32_t k = 0; k < at_once; ++k) {
            const std::uint32_t column = (v + k) * x.scale + x.offset + b * x.step;
            if (column < x.extent) sum[k] += widened(*behind(from + other, first + column, source_bytes)) * factor;
          }
        }
      }
    }
    CAIRN_UNROLL_DEVICE
    for (std::uint32_t k = 0; k < at_once; ++k) {
      const std::uint32_t row = y.start + u * y.apart, column = x.start + (v + k) * x.apart;
      if (row >= (Back ? down.in : down.out) || column >= (Back ? across.in : across.out)) continue;
      const std::size_t pixel = (image * (Back ? down.in : down.out) + row) * (Back ? across.in : across.out) + column;
      result(pixel, channel) = finished(then, pixel, channel, sum[k]);
    }
  }
};

// The weight gradient, as a term of sum_columns_then(): columns are the weights of all output channels at one tap, and then those
// at the next.
template <class T>
struct sums_of_depthwise {
  small_axis down, across;
  divisor channels, kernel, group, area, line; // output channels; taps of a row; of a group; pixels of an image and of its rows
  std::uint32_t taps, in_bytes, out_bytes;     // to the next pixel
  const T *output_gradient, *input;
  accumulated<T>* weight_gradient;

  sums_of_depthwise(const convolution& how, accumulated<T>* dw, matrix<const T> dy, const T* x)
      : down(how.over.y), across(how.over.x), channels(how.out_channels), kernel(how.over.x.kernel), group(how.group_out()),
        area(how.over.outputs()), line(how.over.x.out), taps(static_cast<std::uint32_t>(how.over.taps())),
        in_bytes(static_cast<std::uint32_t>(how.in_channels * sizeof(T))),
        out_bytes(static_cast<std::uint32_t>(dy.stride * sizeof(T))), output_gradient(dy.data), input(x), weight_gradient(dw) {}

  CAIRN_DEVICE void add(std::size_t row, std::size_t end, std::size_t column, double& sum, double&) const {
    const auto at = static_cast<std::uint32_t>(column), first = static_cast<std::uint32_t>(row);
    const std::uint32_t tap = channels.of_small(at), o = at - tap * channels.small();
    const std::uint32_t i = kernel.of_small(tap), j = tap - i * kernel.small();
    std::uint32_t image = area.of_small(first), p = line.of_small(first - image * area.small());
    std::uint32_t q = first - image * area.small() - p * line.small();
    const T *dy = behind(output_gradient + o, first, out_bytes), *const x = input + group.of_small(o);
    accumulated<T> some = 0;
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (auto left = static_cast<std::uint32_t>(end) - first; left > 0; --left) {
      const std::uint32_t y = p * down.stride + i * down.dilation - down.padding;
      const std::uint32_t of_row = q * across.stride + j * across.dilation - across.padding;
      if (y < down.in && of_row < across.in)
        some += widened(*dy) * widened(*behind(x, (image * down.in + y) * across.in + of_row, in_bytes));
      dy = behind(dy, 1, out_bytes);
      if (++q == across.out) {
        q = 0;
        if (++p == down.out) p = 0, ++image;
      }
    }
    sum += static_cast<double>(some);
  }
  CAIRN_DEVICE void finish(std::size_t column, double sum, double) const {
    const auto at = static_cast<std::uint32_t>(column);
    const std::uint32_t tap = channels.of_small(at);
    weight_gradient[(at - tap * channels.small()) * taps + tap] = static_cast<accumulated<T>>(sum);
  }
};

template <bool Back, class T>
void launch_depthwise(cuda::queue& queue, const char* op, const convolution& how, std::size_t samples, matrix<T> to,
                      matrix<const T> from, const T* weight, const epilogue<T>& then) {
  const convolve_depthwise<T, Back> body(how, samples, to, from, weight, then);
  launch_each(queue, op, body.threads(), body);
}

} // namespace cairn::detail
