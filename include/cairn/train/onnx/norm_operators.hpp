// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/layer/batch_norm.hpp>
#include <cairn/layer/group_norm.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/rms_norm.hpp>
#include <cairn/layer/standardize.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/operators.hpp>

namespace cairn::detail {

// Both BatchNorms, by their running statistics.
template <class Layer>
struct onnx_batch_norm {
  static void write(onnx::layer_writer& at) {
    at.output_channels_first(at.node("BatchNormalization",
                                     {at.input_channels_first(), at.parameter(0), at.parameter(1), at.buffer(0), at.buffer(1)},
                                     {{"epsilon", Layer::eps}}));
  }
};

} // namespace cairn::detail

namespace cairn::onnx {

template <std::size_t Features, auto Eps, auto Momentum>
struct operators<BatchNorm1d<Features, Eps, Momentum>> : detail::onnx_batch_norm<BatchNorm1d<Features, Eps, Momentum>> {};
template <std::size_t Channels, auto Eps, auto Momentum>
struct operators<BatchNorm2d<Channels, Eps, Momentum>> : detail::onnx_batch_norm<BatchNorm2d<Channels, Eps, Momentum>> {};

template <std::size_t Features, auto Eps>
struct operators<LayerNorm<Features, Eps>> {
  static void write(layer_writer& at) {
    at.output(at.node("LayerNormalization", {at.input(), at.parameter(0), at.parameter(1)},
                      {{"axis", -1}, {"epsilon", LayerNorm<Features, Eps>::eps}}));
  }
};

template <std::size_t Features>
struct operators<preprocess::Standardize<Features>> {
  static void write(layer_writer& at) { at.output(at.node("Div", {at.node("Sub", {at.input(), at.buffer(0)}), at.buffer(1)})); }
};

// x / sqrt(mean of x^2 + eps) weight; the operator RMSNormalization is of operator set 23.
template <std::size_t Features, auto... Eps>
struct operators<RMSNorm<Features, Eps...>> {
  static void write(layer_writer& at) {
    using norm = RMSNorm<Features, Eps...>;
    const double eps = at.is_double() ? norm::template eps<double>() : norm::template eps<float>();
    const std::string x = at.input();
    const std::string square = at.node("ReduceMean", {at.node("Mul", {x, x})}, {{"axes", std::vector<std::int64_t>{-1}}});
    const std::string deviation = at.node("Sqrt", {at.node("Add", {square, at.number(eps)})});
    at.output(at.node("Mul", {at.node("Div", {x, deviation}), at.parameter(0)}));
  }
};

// Each group is normalised as if it were one channel of many pixels, by InstanceNormalization; weight and bias follow. (The
// operator GroupNormalization is of operator set 18, and means something else since 21.)
template <std::size_t Groups, std::size_t Channels, auto Eps>
struct operators<GroupNorm<Groups, Channels, Eps>> {
  static void write(layer_writer& at) {
    constexpr auto groups = static_cast<std::int64_t>(Groups), channels = static_cast<std::int64_t>(Channels);
    const std::int64_t pixels = static_cast<std::int64_t>(at.in(0).size()) / channels;
    const std::string apart = at.graph().reshaped(at.input_channels_first(), {-1, groups, channels / groups * pixels});
    const std::string normal = at.node(
        "InstanceNormalization",
        {apart, at.numbers({groups}, std::vector<double>(Groups, 1)), at.numbers({groups}, std::vector<double>(Groups, 0))},
        {{"epsilon", GroupNorm<Groups, Channels, Eps>::eps}});
    std::vector<std::int64_t> first{-1, channels}, of_channel{channels}; // (rows, channels, ...), and (channels, 1, ...)
    for (std::size_t axis = 0; axis + 1 < at.in(0).rank(); ++axis) {
      first.push_back(static_cast<std::int64_t>(at.in(0)[axis]));
      of_channel.push_back(1);
    }
    const std::string weight = at.graph().reshaped(at.parameter(0), of_channel);
    const std::string bias = at.graph().reshaped(at.parameter(1), of_channel);
    at.output_channels_first(at.node("Add", {at.node("Mul", {at.graph().reshaped(normal, first), weight}), bias}));
  }
};

} // namespace cairn::onnx
