// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/pack.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/recurrent/gru_cell.hpp>
#include <cairn/layer/recurrent/lstm_cell.hpp>
#include <cairn/layer/softmax.hpp>
#include <cairn/layer/sum.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/operators.hpp>

namespace cairn::detail {

// x W^T + b for x of (rows, ..., in) and W of (out, in), as one Gemm over all rows of `in` elements; b may be empty. (Rejected:
// MatMul, which needs a transposed copy of the weight, also of one that is an Embedding's.)
inline std::string onnx_product(onnx::layer_writer& at, std::string x, const tensor& taken, const std::string& weight,
                                const std::string& bias, std::size_t out) {
  const bool has_more = taken.rank() > 1;
  if (has_more) x = at.graph().reshaped(x, {-1, static_cast<std::int64_t>(taken.last())});
  std::vector<std::string> factors{x, weight};
  if (!bias.empty()) factors.push_back(bias);
  const std::string made = at.node("Gemm", factors, {{"transB", 1}});
  return has_more ? at.graph().reshaped(made, onnx_graph::extents_of(taken.with_last(out))) : made;
}

} // namespace cairn::detail

namespace cairn::onnx {

template <std::size_t In, std::size_t Out, bool Bias>
struct operators<Linear<In, Out, Bias>> {
  static void write(layer_writer& at) {
    at.output(detail::onnx_product(at, at.input(), at.in(0), at.parameter(0), Bias ? at.parameter(1) : std::string{}, Out));
  }
};

template <std::size_t Vocabulary, std::size_t Width, class... Options>
struct operators<Embedding<Vocabulary, Width, Options...>> {
  static void write(layer_writer& at) { at.output(at.node("Gather", {at.parameter(0), at.input()}, {{"axis", 0}})); }
};

template <class... Layers>
struct operators<Sum<Layers...>> {
  static void write(layer_writer& at) {
    std::string sum;
    std::size_t k = 0, parameter = 0;
    const auto add = [&]<class Layer>(type_of<Layer>) {
      layer_writer term = at.part(k++, parameter);
      operators<Layer>::write(term);
      detail::onnx_flow flow = term.made().at(0);
      flow.facts = Sum<Layers...>::outputs(at.in());
      const std::string made = at.graph().channels_last(flow);
      sum = sum.empty() ? made : at.node("Add", {sum, made});
      parameter += detail::parameters_of_term<Layer>().count;
    };
    (add(type_of<Layers>{}), ...);
    at.output(sum);
  }

private:
  template <class Layer>
  using type_of = detail::type_of<Layer>;
};

template <>
struct operators<Softmax> {
  static void write(layer_writer& at) { at.output(at.node("Softmax", {at.input()}, {{"axis", -1}})); }
};

// In the order of Cairn, (height, width, channels).
template <>
struct operators<Flatten> {
  static void write(layer_writer& at) {
    at.output(at.graph().reshaped(at.input(), {-1, static_cast<std::int64_t>(at.in(0).size())}));
  }
};

// The gates of both cells are rows of one weight: a product for all of them, and then its parts.
template <std::size_t In, std::size_t Hidden>
struct operators<GRUCell<In, Hidden>> {
  static void write(layer_writer& at) {
    const auto gates = [&](std::size_t k) {
      const std::string all = detail::onnx_product(at, at.input(k), at.in(k), at.parameter(k), at.parameter(2 + k), 3 * Hidden);
      return at.nodes("Split", {all}, 3, {{"axis", -1}});
    };
    const std::vector<std::string> x = gates(0), h = gates(1);
    const std::string r = at.node("Sigmoid", {at.node("Add", {x[0], h[0]})});
    const std::string z = at.node("Sigmoid", {at.node("Add", {x[1], h[1]})});
    const std::string n = at.node("Tanh", {at.node("Add", {x[2], at.node("Mul", {r, h[2]})})});
    at.output(at.node("Add", {n, at.node("Mul", {z, at.node("Sub", {at.input(1), n})})})); // n + z (h - n)
  }
};
template <std::size_t In, std::size_t Hidden>
struct operators<LSTMCell<In, Hidden>> {
  static void write(layer_writer& at) {
    const auto product = [&](std::size_t k) {
      return detail::onnx_product(at, at.input(k), at.in(k), at.parameter(k), at.parameter(2 + k), 4 * Hidden);
    };
    const std::string all = at.node("Add", {product(0), product(1)});
    const std::vector<std::string> gates = at.nodes("Split", {all}, 4, {{"axis", -1}});
    const std::string i = at.node("Sigmoid", {gates[0]}), f = at.node("Sigmoid", {gates[1]});
    const std::string g = at.node("Tanh", {gates[2]}), o = at.node("Sigmoid", {gates[3]});
    const std::string c = at.node("Add", {at.node("Mul", {f, at.input(2)}), at.node("Mul", {i, g})});
    at.output(at.node("Mul", {o, at.node("Tanh", {c})}));
    at.output(c);
  }
};

} // namespace cairn::onnx
