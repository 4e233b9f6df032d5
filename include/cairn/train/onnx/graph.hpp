// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/element.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/train/onnx/messages.hpp>

namespace cairn::detail {

// A tensor that flows through the graph: (rows, facts), as in Cairn, or with the channels, the last extent, moved to the front:
// (rows, channels, height, width), as convolutions and pools of ONNX take them.
struct onnx_flow {
  std::string name;
  tensor facts{};
  bool channels_first = false;
};
using onnx_flows = std::vector<onnx_flow>;

// The nodes and tensors of a graph, in the order in which they are added, which is one in which they can run.
class onnx_graph {
public:
  explicit onnx_graph(onnx_type of_real) : real_(of_real) {}

  onnx_type real() const { return real_; }
  onnx_type type_of(const tensor& t) const { return t.type == element::int32 ? onnx_type::int32 : real_; }

  // A name that begins with this one and is not in use.
  std::string unused(std::string name) {
    while (!names_.insert(name).second) name += '_';
    return name;
  }

  void input(const std::string& name, const tensor& t) { fields_.part(11, onnx_value(name, type_of(t), extents_of(t))); }
  void output(const std::string& name, const tensor& t) { fields_.part(12, onnx_value(name, type_of(t), extents_of(t))); }
  void weight(onnx_tensor w) {
    w.is_weight = true;
    tensors_.push_back(std::move(w));
  }

  // Adds a node with so many outputs and returns their names, or with outputs of these names.
  std::vector<std::string> nodes(std::string_view type, const std::vector<std::string>& inputs, std::size_t outputs,
                                 const std::vector<onnx::attribute>& attributes = {}) {
    std::vector<std::string> made;
    for (std::size_t k = 0; k < outputs; ++k) made.push_back(unused("value_" + std::to_string(next_++)));
    fields_.part(1, onnx_node(type, inputs, made, attributes));
    return made;
  }
  std::string node(std::string_view type, const std::vector<std::string>& inputs,
                   const std::vector<onnx::attribute>& attributes = {}) {
    return nodes(type, inputs, 1, attributes).front();
  }
  void node_to(const std::string& output, std::string_view type, const std::string& input) {
    fields_.part(1, onnx_node(type, {input}, {output}, {}));
  }

  // A constant of real numbers, integers or booleans. Equal ones are in the file once.
  std::string numbers(std::vector<std::int64_t> extents, std::span<const double> values) {
    if (real_ == onnx_type::real64) return constant(real_, std::move(extents), values);
    return constant(real_, std::move(extents), std::vector<float>(values.begin(), values.end()));
  }
  std::string number(double value) { return numbers({}, {&value, 1}); }
  std::string integers(const std::vector<std::int64_t>& values) {
    return constant(onnx_type::int64, {static_cast<std::int64_t>(values.size())}, values);
  }
  std::string index(std::int64_t value) { return constant(onnx_type::int64, {}, std::vector<std::int64_t>{value}); }
  std::string int32s(std::vector<std::int64_t> extents, const std::vector<std::int32_t>& values) {
    return constant(onnx_type::int32, std::move(extents), values);
  }
  std::string booleans(std::vector<std::int64_t> extents, const std::vector<char>& values) {
    return constant(onnx_type::boolean, std::move(extents), values);
  }

  // The same elements under other extents; -1 is the number of samples.
  std::string reshaped(const std::string& x, const std::vector<std::int64_t>& extents) {
    return node("Reshape", {x, integers(extents)});
  }
  std::string transposed(const std::string& x, const std::vector<std::int64_t>& axes) {
    return node("Transpose", {x}, {{"perm", axes}});
  }

  // The name of a tensor with its channels where they are wanted. They are moved once, however many nodes ask.
  std::string channels_last(const onnx_flow& x) { return turned(x, false); }
  std::string channels_first(const onnx_flow& x) { return turned(x, true); }

  // (rows, extents of a sample), or without rows if there is one for all samples.
  static std::vector<std::int64_t> extents_of(const tensor& t) {
    std::vector<std::int64_t> out;
    if (!t.per_batch) out.push_back(-1);
    for (std::size_t axis = 0; axis < t.rank(); ++axis) out.push_back(static_cast<std::int64_t>(t[axis]));
    return out;
  }

  const std::vector<onnx_tensor>& tensors() const { return tensors_; }
  // GraphProto without its tensors.
  protobuf_message message() const {
    protobuf_message out = fields_;
    return out.text(2, "cairn");
  }

private:
  template <class Values>
  std::string constant(onnx_type type, std::vector<std::int64_t> extents, const Values& values) {
    const std::span of(values);
    const std::string_view bytes(reinterpret_cast<const char*>(of.data()), of.size_bytes());
    const auto same = [&](const onnx_tensor& t) {
      return !t.is_weight && t.type == type && t.extents == extents && t.own == bytes;
    };
    if (const auto found = std::find_if(tensors_.begin(), tensors_.end(), same); found != tensors_.end()) return found->name;
    const std::string name = unused("constant_" + std::to_string(tensors_.size()));
    tensors_.push_back({.name = name, .type = type, .extents = std::move(extents), .own = std::string(bytes)});
    return name;
  }

  std::string turned(const onnx_flow& x, bool first) {
    const std::size_t rank = x.facts.rank();
    if (x.channels_first == first || rank < 2) return x.name;
    const auto [at, is_new] = turned_.try_emplace(x.name);
    if (!is_new) return at->second;
    std::vector<std::int64_t> axes{0}; // (rows, channels, ...) from (rows, ..., channels), or back
    if (first) axes.push_back(static_cast<std::int64_t>(rank));
    for (std::size_t axis = 1; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(first ? axis : axis + 1));
    if (!first) axes.push_back(1);
    return at->second = transposed(x.name, axes);
  }

  onnx_type real_;
  protobuf_message fields_; // GraphProto
  std::vector<onnx_tensor> tensors_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::string> turned_;
  std::size_t next_ = 0;
};

} // namespace cairn::detail
