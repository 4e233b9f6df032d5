// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/elu.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/leaky_relu.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/operators.hpp>

// Layers that work on each element by itself: they leave images as they lie.
namespace cairn::onnx {

template <>
struct operators<ReLU> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) { return at.node("Relu", {x}); });
  }
};
template <>
struct operators<Sigmoid> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) { return at.node("Sigmoid", {x}); });
  }
};
template <>
struct operators<Tanh> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) { return at.node("Tanh", {x}); });
  }
};
template <auto Slope>
struct operators<LeakyReLU<Slope>> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) { return at.node("LeakyRelu", {x}, {{"alpha", static_cast<double>(Slope)}}); });
  }
};
template <auto Alpha>
struct operators<ELU<Alpha>> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) { return at.node("Elu", {x}, {{"alpha", static_cast<double>(Alpha)}}); });
  }
};
// x logistic(x)
template <>
struct operators<SiLU> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) { return at.node("Mul", {x, at.node("Sigmoid", {x})}); });
  }
};
// x (1 + erf(x / sqrt 2)) / 2; the operator Gelu is of operator set 20.
template <>
struct operators<GELU> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) {
      const std::string erf = at.node("Erf", {at.node("Mul", {x, at.number(0.70710678118654752440)})});
      return at.node("Mul", {at.node("Mul", {x, at.number(0.5)}), at.node("Add", {erf, at.number(1)})});
    });
  }
};
// x logistic(sqrt(8 / pi) (x + 0.044715 x^3)), as the layer computes it.
template <>
struct operators<TanhGELU> {
  static void write(layer_writer& at) {
    at.each_element([&](const std::string& x) {
      const std::string cubic = at.node("Mul", {at.node("Mul", {x, x}), at.number(0.0713548162726002488)});
      const std::string inner = at.node("Mul", {x, at.node("Add", {cubic, at.number(1.59576912160573071176)})});
      return at.node("Mul", {x, at.node("Sigmoid", {inner})});
    });
  }
};
template <auto Probability>
struct operators<Dropout<Probability>> : detail::no_operators {};

} // namespace cairn::onnx
