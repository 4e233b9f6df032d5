// SPDX-License-Identifier: MIT
#include <cairn/train/onnx/messages.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fields.hpp"

namespace onnx_messages_tests {

using namespace cairn;
using onnx_tests::fields;

TEST_CASE("messages: an attribute has its name, its value and its type") {
  const fields axis(onnx::attribute("axis", -1).message().bytes());
  CHECK(axis.text(1) == "axis");
  CHECK(static_cast<std::int64_t>(axis.integer(3)) == -1);
  CHECK(axis.integer(20) == 2);
  const fields alpha(onnx::attribute("alpha", 0.5).message().bytes());
  CHECK(alpha.integer(2) == 0x3f000000U);
  CHECK(alpha.integer(20) == 1);
  const fields pads(onnx::attribute("pads", std::vector<std::int64_t>{0, 1, 2}).message().bytes());
  CHECK(pads.integers(8) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(pads.integer(20) == 7);
  const fields mode(onnx::attribute("mode", "constant").message().bytes());
  CHECK(mode.text(4) == "constant");
  CHECK(mode.integer(20) == 3);
}

TEST_CASE("messages: an input has an extent by name, the others by number") {
  const fields value(detail::onnx_value("input", detail::onnx_type::int32, {-1, 7}).bytes());
  CHECK(value.text(1) == "input");
  const fields of_tensor = value.part(2).part(1);
  CHECK(of_tensor.integer(1) == 6);
  CHECK(of_tensor.part(2).part(1, 0).text(2) == "rows");
  CHECK(of_tensor.part(2).part(1, 1).integer(1) == 7);
}

TEST_CASE("messages: a node lists its inputs and outputs") {
  const fields node(detail::onnx_node("Gemm", {"x", "w"}, {"y"}, {{"transB", 1}}).bytes());
  CHECK(node.texts(1) == std::vector<std::string>{"x", "w"});
  CHECK(node.texts(2) == std::vector<std::string>{"y"});
  CHECK(node.text(4) == "Gemm");
  CHECK(node.part(5).text(1) == "transB");
}

TEST_CASE("messages: a tensor in another file says where") {
  detail::onnx_tensor w{.name = "0.weight", .extents = {2, 3}, .own = std::string(24, 'x')};
  const fields inside(w.message().bytes());
  CHECK(inside.integers(1) == std::vector<std::uint64_t>{2, 3});
  CHECK(inside.integer(2) == 1);
  CHECK(inside.text(8) == "0.weight");
  CHECK(inside.texts(13).empty());
  const fields outside(w.message_of_external("net.onnx.data", 4096).bytes());
  CHECK(outside.part(13, 0).text(2) == "net.onnx.data");
  CHECK(outside.part(13, 1).text(2) == "4096");
  CHECK(outside.part(13, 2).text(1) == "length");
  CHECK(outside.part(13, 2).text(2) == "24");
  CHECK(outside.integer(14) == 1);
}

} // namespace onnx_messages_tests
