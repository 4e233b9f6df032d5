// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <cairn/core/element.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/train/onnx/graph.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/model_file.hpp>
#include <cairn/train/onnx/network_graph.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/state/weights_in_files.hpp>

namespace cairn::types {

// Options of write_onnx(), by name: write_onnx(net, "net.onnx", {.largest_file = 0}).
struct onnx_options {
  // Bytes. A file that would be larger has its weights in another file beside it, `path`.data: a message of a protocol buffer has
  // less than 2 GiB. 0: in any case.
  std::uint64_t largest_file = 2'000'000'000;
};

} // namespace cairn::types

namespace cairn::detail {

// The weights of a network as tensors of a graph, with their names.
template <class Weights>
onnx_names add_weights(onnx_graph& graph, Weights& weights, file_bytes& bytes) {
  onnx_names names;
  const auto add_to = [&](auto& list) {
    return [&](const auto& q) {
      onnx_tensor w{.name = graph.unused(q.name), .type = graph.real(), .extents = {}, .own = {}};
      for (const std::uint64_t extent : extents_in_files(*q.facts)) w.extents.push_back(static_cast<std::int64_t>(extent));
      w.elsewhere = bytes.of(q.numbers, *q.facts);
      list[{q.leaf, q.index}] = w.name;
      graph.weight(std::move(w));
    };
  };
  weights.for_each_parameter(add_to(names.parameters));
  weights.for_each_buffer(add_to(names.buffers));
  return names;
}

// "input" if there is one, else "input_0", "input_1" and so on.
inline std::string name_among(const std::string& name, std::size_t k, std::size_t count) {
  return count == 1 ? name : name + "_" + std::to_string(k);
}

// The graph of a network with these inputs; its first output, or all of them if the program reads all.
template <class Blueprint>
void write_network(onnx_graph& graph, onnx_names& names) {
  const value_list& takes = Blueprint::inputs;
  const tensor_list& constants = Blueprint::constants;
  onnx_flows value;
  for (std::size_t k = 0; k < takes.size(); ++k) {
    value.push_back({graph.unused(name_among("input", k, takes.size())), takes[k]});
    graph.input(value.back().name, takes[k]);
  }
  for (std::size_t k = 0; k != constants.size(); ++k) { // nvcc warns of `k < 0`
    names.constants.push_back(graph.unused(name_among("constant", k, constants.size())));
    graph.input(names.constants.back(), constants[k]);
  }
  value = onnx_chain<Blueprint>::write(graph, names, std::move(value), 0);
  const std::size_t gives = Blueprint::all_outputs ? value.size() : 1;
  for (std::size_t k = 0; k < gives; ++k) {
    const std::string name = graph.unused(name_among("output", k, gives));
    graph.node_to(name, "Identity", graph.channels_last(value[k]));
    graph.output(name, value[k].facts);
  }
}

} // namespace cairn::detail

namespace cairn {

// Writes a network in evaluation as an ONNX file, which ONNX Runtime and other programs run:
//
//   write_onnx(net, "net.onnx");
//   # Python: onnxruntime.InferenceSession("net.onnx").run(None, {"input": images})
//
// `owner` is a model or a trainer. The graph takes and makes what evaluate() does, in the same layout: "input" is (rows, extents
// of a sample), images have their channels last, tokens are int32, and the number of rows is free. Several inputs are "input_0"
// and so on, constants "constant" or "constant_0", and the output is "output". Between convolutions and pools channels are first,
// as ONNX has them. Blocks become their layers, an Unroll all of its steps, and what only concerns training is left out.
//
// Weights have the names of a file of weights. Those of a Conv2d lie as there, all others as in memory, also after a Flatten of
// images. A network of double is written as one of double, of which ONNX Runtime computes some operators only. One of 16 bits is
// written as one of float, with the weights as they are learnt.
//
// Each layer says its operators, one of your own by a function of its own: see operators.hpp. An existing file is replaced as a
// whole; throws file_error if that fails. Weights in a file of their own are written first. With ddp one rank writes.
template <class Owner>
void write_onnx(Owner& owner, const std::string& path, const types::onnx_options& options = {}) {
  using number = typename Owner::number;
  static_assert(std::is_same_v<number, float> || std::is_same_v<number, double>, "write_onnx: expected a model or a trainer");
  auto weights = detail::on_host(owner);
  detail::file_bytes bytes;
  detail::onnx_graph graph(std::is_same_v<number, double> ? detail::onnx_type::real64 : detail::onnx_type::real32);
  detail::onnx_names names = detail::add_weights(graph, weights, bytes);
  detail::write_network<typename Owner::plan>(graph, names);
  if (detail::onnx_size(graph) <= options.largest_file) detail::write_onnx_file(graph, path);
  else detail::write_onnx_files(graph, path);
}

} // namespace cairn
