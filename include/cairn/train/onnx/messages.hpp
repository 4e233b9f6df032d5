// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/rooms.hpp>
#include <cairn/train/onnx/protobuf.hpp>

// The messages of an ONNX file. Numbers of fields and of enumerations are those of onnx/onnx.proto
// (github.com/onnx/onnx), as of IR version 8.
namespace cairn::onnx {

// An attribute of a node, as {"axis", -1}: an integer, a number, a text or a list of integers.
class attribute {
public:
  template <std::integral Value>
  attribute(std::string_view name, Value value) {
    message_.text(1, name).integer(3, static_cast<std::int64_t>(value)).integer(20, 2);
  }
  attribute(std::string_view name, double value) { message_.text(1, name).real(2, static_cast<float>(value)).integer(20, 1); }
  attribute(std::string_view name, const char* value) { message_.text(1, name).text(4, value).integer(20, 3); }
  attribute(std::string_view name, const std::vector<std::int64_t>& values) {
    message_.text(1, name);
    for (const std::int64_t v : values) message_.integer(8, v);
    message_.integer(20, 7);
  }

  const detail::protobuf_message& message() const { return message_; }

private:
  detail::protobuf_message message_; // AttributeProto
};

} // namespace cairn::onnx

namespace cairn::detail {

// ModelProto.ir_version and the version of the operators: the first with LayerNormalization, which every runtime of today reads.
inline constexpr std::int64_t onnx_ir_version = 8, onnx_operators = 17;

// TensorProto.DataType.
enum class onnx_type : unsigned char { real32 = 1, int32 = 6, int64 = 7, boolean = 9, real64 = 11 };

// A tensor of known elements: a weight of the network, or a constant of an operator. The elements are here or elsewhere.
struct onnx_tensor {
  std::string name;
  onnx_type type = onnx_type::real32;
  std::vector<std::int64_t> extents{};
  std::string own{};                      // its elements, or empty
  std::span<const std::byte> elsewhere{}; // its elements, if they are not its own
  bool is_weight = false;

  std::string_view bytes() const {
    static_assert(std::endian::native == std::endian::little, "write_onnx: the elements in a file are little-endian");
    return own.empty() ? std::string_view(reinterpret_cast<const char*>(elsewhere.data()), elsewhere.size()) : own;
  }
  // TensorProto without its elements.
  protobuf_message message() const {
    protobuf_message out;
    for (const std::int64_t extent : extents) out.integer(1, extent);
    return out.integer(2, static_cast<std::int64_t>(type)).text(8, name);
  }
  // ... whose elements are at this place of another file.
  protobuf_message message_of_external(std::string_view file, std::uint64_t offset) const {
    const auto entry = [](std::string_view key, std::string_view value) {
      protobuf_message pair; // StringStringEntryProto
      return pair.text(1, key).text(2, value);
    };
    return message()
        .part(13, entry("location", file))
        .part(13, entry("offset", std::to_string(offset)))
        .part(13, entry("length", std::to_string(bytes().size())))
        .integer(14, 1); // TensorProto.EXTERNAL
  }
};

// ValueInfoProto: an input or an output of the graph. An extent of -1 is the number of samples, which is called "rows".
inline protobuf_message onnx_value(std::string_view name, onnx_type type, const std::vector<std::int64_t>& extents) {
  protobuf_message shape;
  for (const std::int64_t extent : extents) {
    protobuf_message dimension;
    if (extent < 0) dimension.text(2, "rows");
    else dimension.integer(1, extent);
    shape.part(1, dimension);
  }
  protobuf_message of_tensor, of_type, out;
  of_tensor.integer(1, static_cast<std::int64_t>(type)).part(2, shape);
  of_type.part(1, of_tensor);
  return out.text(1, name).part(2, of_type);
}

// NodeProto.
inline protobuf_message onnx_node(std::string_view type, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs, const std::vector<onnx::attribute>& attributes) {
  protobuf_message out;
  for (const std::string& name : inputs) out.text(1, name);
  for (const std::string& name : outputs) out.text(2, name);
  out.text(4, type);
  for (const onnx::attribute& a : attributes) out.part(5, a.message());
  return out;
}

} // namespace cairn::detail
