// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <cairn/core/config.hpp>
#include <cairn/data/file.hpp>
#include <cairn/train/onnx/graph.hpp>
#include <cairn/train/onnx/messages.hpp>

// A graph as a file: ModelProto, with the weights in it or in a file beside it.
namespace cairn::detail {

// The weights lie at multiples of a page there, so that a runtime can map them into memory.
inline constexpr std::uint64_t onnx_page = 4096;

// GraphProto.initializer up to the elements of the tensor, which follow if they are in this file.
inline protobuf_message onnx_initializer(const onnx_tensor& t) {
  protobuf_message fields = t.message(), out;
  fields.begin(9, t.bytes().size()); // TensorProto.raw_data
  return out.begin(5, fields.size() + t.bytes().size()).append(fields);
}

// ModelProto up to the bytes of its graph, the last field, of which there are so many.
inline protobuf_message onnx_model(std::uint64_t graph) {
  const std::string version =
      std::to_string(CAIRN_VERSION_MAJOR) + "." + std::to_string(CAIRN_VERSION_MINOR) + "." + std::to_string(CAIRN_VERSION_PATCH);
  protobuf_message operators, out;
  operators.text(1, "").integer(2, onnx_operators); // OperatorSetIdProto
  return out.integer(1, onnx_ir_version).text(2, "cairn").text(3, version).part(8, operators).begin(7, graph);
}

// The size of a file that has everything in it.
inline std::uint64_t onnx_size(const onnx_graph& graph) {
  std::uint64_t size = graph.message().size();
  for (const onnx_tensor& t : graph.tensors()) size += onnx_initializer(t).size() + t.bytes().size();
  return size + onnx_model(size).size();
}

// Writes a file that has everything in it. Elements go from where they are to the file, without a copy.
inline void write_onnx_file(const onnx_graph& graph, const std::string& path) {
  const protobuf_message fields = graph.message();
  std::uint64_t size = fields.size();
  for (const onnx_tensor& t : graph.tensors()) size += onnx_initializer(t).size() + t.bytes().size();
  replace_file(path, [&](open_file& file) {
    if (!file.write(onnx_model(size).bytes()) || !file.write(fields.bytes())) return false;
    for (const onnx_tensor& t : graph.tensors())
      if (!file.write(onnx_initializer(t).bytes()) || !file.write(t.bytes())) return false;
    return true;
  });
}

// Writes the weights to `path`.data, then the graph, which names that file. Constants are in the graph.
inline void write_onnx_files(const onnx_graph& graph, const std::string& path) {
  const std::string data = path + ".data";
  const std::string_view name = std::string_view(data).substr(data.find_last_of('/') + 1); // npos + 1 is 0
  protobuf_message fields = graph.message();
  replace_file(data, [&](open_file& file) {
    std::uint64_t at = 0;
    for (const onnx_tensor& t : graph.tensors()) {
      if (!t.is_weight) {
        fields.append(onnx_initializer(t)).append(t.bytes());
        continue;
      }
      const std::uint64_t gap = (onnx_page - at % onnx_page) % onnx_page;
      if (!file.write(std::string(gap, '\0')) || !file.write(t.bytes())) return false;
      fields.part(5, t.message_of_external(name, at + gap));
      at += gap + t.bytes().size();
    }
    return true;
  });
  replace_file(path,
               [&](open_file& file) { return file.write(onnx_model(fields.size()).bytes()) && file.write(fields.bytes()); });
}

} // namespace cairn::detail
