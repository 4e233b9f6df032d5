// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <cairn/layer/adaptive_avg_pool2d.hpp>
#include <cairn/layer/avg_pool2d.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/dense/dense_bottleneck.hpp>
#include <cairn/layer/dense/dense_growth.hpp>
#include <cairn/layer/dense/dense_transition.hpp>
#include <cairn/layer/max_pool2d.hpp>
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>
#include <cairn/ops/window.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/operators.hpp>

// Layers of images, all with channels first: of neighbours in a network none moves the channels.
namespace cairn::detail {

// A window by ONNX's attributes. Padding after the image is as much as its last output needs, so that the number of outputs is
// that of Cairn, with ceil_mode and without.
struct onnx_window {
  std::vector<std::int64_t> kernel, strides, dilations, pads;

  explicit onnx_window(const ops::window& over) {
    for (const ops::window_axis* a : {&over.y, &over.x}) {
      kernel.push_back(whole(a->kernel));
      strides.push_back(whole(a->stride));
      dilations.push_back(whole(a->dilation));
      pads.push_back(whole(a->padding));
    }
    for (const ops::window_axis* a : {&over.y, &over.x})
      pads.push_back(std::max<std::int64_t>(whole((a->out - 1) * a->stride + a->extent()) - whole(a->in + a->padding), 0));
  }
  std::vector<onnx::attribute> attributes(bool has_dilations) const {
    std::vector<onnx::attribute> out{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
    if (has_dilations) out.emplace_back("dilations", dilations);
    return out;
  }

private:
  static std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }
};

// A BatchNorm2d, a ReLU and a convolution without bias, with the parameters of both.
inline std::string onnx_normalized_conv2d(onnx::layer_writer& at, const std::vector<std::int64_t>& pads) {
  const std::string normal =
      at.node("BatchNormalization", {at.input_channels_first(), at.parameter(0), at.parameter(1), at.buffer(0), at.buffer(1)},
              {{"epsilon", dense_eps}});
  return at.node("Conv", {at.node("Relu", {normal}), at.parameter(2)}, {{"pads", pads}});
}

} // namespace cairn::detail

namespace cairn::onnx {

template <std::size_t In, std::size_t Out, std::size_t Kernel, class... Options>
struct operators<Conv2d<In, Out, Kernel, Options...>> {
  static void write(layer_writer& at) {
    constexpr detail::window_options options = Conv2d<In, Out, Kernel, Options...>::options;
    std::vector<attribute> attributes = detail::onnx_window(options.on(at.in(0))).attributes(true);
    attributes.emplace_back("group", options.groups);
    std::vector<std::string> factors{at.input_channels_first(), at.parameter(0)};
    if (!options.has(detail::no_bias_option)) factors.push_back(at.parameter(1));
    at.output_channels_first(at.node("Conv", factors, attributes));
  }
};

template <std::size_t Kernel, class... Options>
struct operators<MaxPool2d<Kernel, Options...>> {
  static void write(layer_writer& at) {
    detail::onnx_window window(MaxPool2d<Kernel, Options...>::options.on(at.in(0)));
    std::string x = at.input_channels_first();
    const auto is_wide = [&](std::size_t side) { return window.pads[side] >= window.kernel[side % 2]; };
    if (is_wide(0) || is_wide(1) || is_wide(2) || is_wide(3)) { // a pool refuses padding as wide as its kernel
      const std::vector<std::int64_t>& p = window.pads;
      x = at.node("Pad",
                  {x, at.integers({0, 0, p[0], p[1], 0, 0, p[2], p[3]}), at.number(-std::numeric_limits<double>::infinity())});
      window.pads.assign(4, 0);
    }
    at.output_channels_first(at.node("MaxPool", {x}, window.attributes(true)));
  }
};

// The pool divides by the number of all pixels of a window, padding included. Where the layer has another divisor, a factor for
// each output follows. (Rejected: ceil_mode of the operator, whose divisor has changed from version to version.)
template <std::size_t Kernel, class... Options>
struct operators<AvgPool2d<Kernel, Options...>> {
  static void write(layer_writer& at) {
    constexpr detail::window_options options = AvgPool2d<Kernel, Options...>::options;
    const ops::window over = options.on(at.in(0));
    const ops::mean_of which = options.has(detail::no_count_include_pad_option) ? ops::mean_of::pixels : ops::mean_of::window;
    std::vector<attribute> attributes = detail::onnx_window(over).attributes(false);
    attributes.emplace_back("count_include_pad", 1);
    const std::string mean = at.node("AveragePool", {at.input_channels_first()}, attributes);
    std::vector<double> factors;
    for (std::size_t y = 0; y < over.y.out; ++y)
      for (std::size_t x = 0; x < over.x.out; ++x)
        factors.push_back(static_cast<double>(over.taps()) /
                          static_cast<double>(ops::range_of(over.y, which, y).divisor * ops::range_of(over.x, which, x).divisor));
    if (std::all_of(factors.begin(), factors.end(), [](double f) { return f == 1; })) return at.output_channels_first(mean);
    const auto height = static_cast<std::int64_t>(over.y.out), width = static_cast<std::int64_t>(over.x.out);
    at.output_channels_first(at.node("Mul", {mean, at.numbers({height, width}, factors)}));
  }
};

// ONNX has the mean of a whole image only. Others are two products with constants: A x B, where row i of A has 1 / n in each of
// the n rows of the image that output row i is the mean of, and B likewise for columns.
template <std::size_t Height, std::size_t Width>
struct operators<AdaptiveAvgPool2d<Height, Width>> {
  static void write(layer_writer& at) {
    const std::string x = at.input_channels_first();
    if (Height == 1 && Width == 1) return at.output_channels_first(at.node("GlobalAveragePool", {x}));
    const std::string of_rows = means(at, at.in(0)[0], Height, false), of_columns = means(at, at.in(0)[1], Width, true);
    at.output_channels_first(at.node("MatMul", {at.node("MatMul", {of_rows, x}), of_columns}));
  }

private:
  // (out, in), or (in, out).
  static std::string means(layer_writer& at, std::size_t in, std::size_t out, bool turned) {
    ops::window_axis axis;
    axis.in = in, axis.out = out;
    std::vector<double> factors(in * out);
    for (std::size_t o = 0; o < out; ++o) {
      const ops::mean_range r = ops::range_of(axis, ops::mean_of::adaptive, o);
      for (std::size_t i = r.begin; i < r.end; ++i)
        factors[turned ? i * out + o : o * in + i] = 1 / static_cast<double>(r.divisor);
    }
    const auto rows = static_cast<std::int64_t>(turned ? in : out), columns = static_cast<std::int64_t>(turned ? out : in);
    return at.numbers({rows, columns}, factors);
  }
};

template <std::size_t Out>
struct operators<DenseTransition<Out>> {
  static void write(layer_writer& at) { at.output_channels_first(detail::onnx_normalized_conv2d(at, {0, 0, 0, 0})); }
};
// The two halves of a layer of a DenseBlock hand on a map. Its statistics, their second tensor, are not read in evaluation.
template <std::size_t Width>
struct operators<detail::dense_bottleneck<Width>> {
  static void write(layer_writer& at) {
    at.output_channels_first(detail::onnx_normalized_conv2d(at, {0, 0, 0, 0}));
    at.pass_on(1);
  }
};
template <std::size_t Growth>
struct operators<detail::dense_growth<Growth>> {
  static void write(layer_writer& at) {
    at.output_channels_first(detail::onnx_normalized_conv2d(at, {1, 1, 1, 1}));
    at.pass_on(1);
  }
};

} // namespace cairn::onnx
