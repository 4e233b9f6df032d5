// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/tensor.hpp>
#include <cairn/train/onnx/graph.hpp>

namespace cairn::detail {

// The names of the weights of a network, by the index of their layer and by theirs in it, and of its constants.
struct onnx_names {
  std::map<std::pair<std::uint32_t, std::size_t>, std::string> parameters, buffers;
  std::vector<std::string> constants;
};

} // namespace cairn::detail

namespace cairn::onnx {

// A layer in the graph that write_onnx() makes: what arrives, and the nodes that compute what the layer makes of it. A name
// stands for a tensor. Tensors have the extents that they have in Cairn, with the number of samples before them: (rows, in(k)).
class layer_writer {
public:
  layer_writer(detail::onnx_graph& graph, const detail::onnx_names& names, const arguments& in, detail::onnx_flows taken,
               std::uint32_t leaf, std::string tied = {})
      : graph_(graph), names_(names), in_(in), taken_(std::move(taken)), leaf_(leaf), tied_(std::move(tied)) {}

  // The descriptions of what arrives, and of the network's constants, as L::outputs(in) has them.
  const arguments& in() const { return in_; }
  const tensor& in(std::size_t k) const { return in_[k]; }
  bool is_double() const { return graph_.real() == detail::onnx_type::real64; }

  // What arrives. The second is for images: (rows, channels, height, width), as ONNX has them.
  std::string input(std::size_t k = 0) { return graph_.channels_last(taken_[k]); }
  std::string input_channels_first(std::size_t k = 0) { return graph_.channels_first(taken_[k]); }
  // Tensor k of the layer's parameters(), of its buffers(), and of the network's constants. A parameter with channels last is
  // (out, in, height, width), as in a file of weights.
  std::string parameter(std::size_t k) const {
    if (tied_.empty()) return names_.parameters.at({leaf_, first_ + k});
    return k == 0 ? tied_ : names_.parameters.at({leaf_, k - 1});
  }
  std::string buffer(std::size_t k) const { return names_.buffers.at({leaf_, k}); }
  std::string constant(std::size_t k) const { return names_.constants.at(k); }

  // Adds a node of this type (github.com/onnx/onnx/blob/main/docs/Operators.md, operator set 17) and returns its output, or so
  // many of them.
  std::string node(std::string_view type, const std::vector<std::string>& inputs, const std::vector<attribute>& attributes = {}) {
    return graph_.node(type, inputs, attributes);
  }
  std::vector<std::string> nodes(std::string_view type, const std::vector<std::string>& inputs, std::size_t outputs,
                                 const std::vector<attribute>& attributes = {}) {
    return graph_.nodes(type, inputs, outputs, attributes);
  }
  // Constants: one number, an array of them, a list of integers such as the extents of a Reshape.
  std::string number(double value) { return graph_.number(value); }
  std::string numbers(std::vector<std::int64_t> extents, std::span<const double> values) {
    return graph_.numbers(std::move(extents), values);
  }
  std::string integers(const std::vector<std::int64_t>& values) { return graph_.integers(values); }

  // Hands on an output of the layer; once for each, in their order.
  void output(std::string name) { made_.push_back({std::move(name), {}, false}); }
  void output_channels_first(std::string name) { made_.push_back({std::move(name), {}, true}); }
  // Hands on f(input), where f adds nodes that work on each element by itself, wherever its channels are.
  template <class F>
  void each_element(F&& f, std::size_t k = 0) {
    made_.push_back({f(taken_[k].name), {}, taken_[k].channels_first});
  }
  // Hands on what arrives.
  void pass_on(std::size_t k = 0) { made_.push_back(taken_[k]); }

  // For the layers of this library. They may change from version to version.
  detail::onnx_graph& graph() { return graph_; }
  const detail::onnx_flows& made() const { return made_; }
  const detail::onnx_flow& taken(std::size_t k) const { return taken_[k]; }
  // The same for a part of the layer that takes tensor k alone and whose parameters begin with `first`.
  layer_writer part(std::size_t k, std::size_t first) const {
    layer_writer out(graph_, names_, {in_.taken + k, 1, in_.constants()}, {taken_[k]}, leaf_);
    out.first_ = first_ + first;
    return out;
  }

private:
  detail::onnx_graph& graph_;
  const detail::onnx_names& names_;
  arguments in_;
  detail::onnx_flows taken_, made_;
  std::uint32_t leaf_;
  std::size_t first_ = 0; // of its parameters among those of the layer
  std::string tied_;      // the parameter of another layer that is its first
};

} // namespace cairn::onnx
