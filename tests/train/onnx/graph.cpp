// SPDX-License-Identifier: MIT
#include <cairn/train/onnx/graph.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fields.hpp"

namespace onnx_graph_tests {

using namespace cairn;
using onnx_tests::fields;

TEST_CASE("graph: equal constants are there once") {
  detail::onnx_graph graph(detail::onnx_type::real32);
  CHECK(graph.number(0.5) == graph.number(0.5));
  CHECK(graph.number(0.5) != graph.number(0.25));
  const std::vector<double> two{0.5, 0.5};
  CHECK(graph.numbers({2}, two) != graph.numbers({1, 2}, two));
  CHECK(graph.integers({0}) != graph.index(0)); // a list of one, and one
  CHECK(graph.int32s({1}, {0}) != graph.booleans({4}, {0, 0, 0, 0}));
  CHECK(graph.tensors().size() == 8);
  CHECK(graph.tensors()[0].bytes().size() == 4);
  detail::onnx_graph wide(detail::onnx_type::real64);
  wide.number(0.5);
  CHECK(wide.tensors()[0].bytes().size() == 8);
}

TEST_CASE("graph: a weight is not a constant, and no name is used twice") {
  detail::onnx_graph graph(detail::onnx_type::real32);
  graph.weight({.name = graph.unused("value_0"), .own = std::string(4, '\0')});
  CHECK(graph.number(0) != "value_0");
  CHECK(graph.node("Relu", {"value_0"}) == "value_0_");
  CHECK(graph.node("Relu", {"value_0"}) == "value_1");
}

TEST_CASE("graph: channels are moved once for all that ask") {
  detail::onnx_graph graph(detail::onnx_type::real32);
  const detail::onnx_flow image{"x", tensor{5, 6, 3}, false}, made{"y", tensor{5, 6, 3}, true}, row{"z", tensor{6}, false};
  CHECK(graph.channels_last(image) == "x");
  const std::string turned = graph.channels_first(image);
  CHECK(graph.channels_first(image) == turned);
  const std::string back = graph.channels_last(made);
  CHECK(graph.channels_first(made) == "y");
  CHECK(graph.channels_first(row) == "z");
  const fields all(graph.message().bytes());
  REQUIRE(all.texts(1).size() == 2);
  CHECK(all.part(1, 0).text(2) == turned);
  CHECK(all.part(1, 0).part(5).integers(8) == std::vector<std::uint64_t>{0, 3, 1, 2});
  CHECK(all.part(1, 1).text(2) == back);
  CHECK(all.part(1, 1).part(5).integers(8) == std::vector<std::uint64_t>{0, 2, 3, 1});
}

} // namespace onnx_graph_tests
