// SPDX-License-Identifier: MIT
#include <cairn/train/onnx/onnx.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/conv2d.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "fields.hpp"

namespace write_onnx_tests {

using namespace cairn;
using onnx_tests::fields;

namespace {

using Net = Sequential<Linear<5, 4>, ReLU, Repeat<2, Residual<Linear<4, 4>, ReLU>>, Linear<4, 3>>;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
std::vector<std::string> types_of_nodes(const fields& graph) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < graph.texts(1).size(); ++k) out.push_back(graph.part(1, k).text(4));
  return out;
}
// The tensor of this name in a graph.
fields tensor_of(const fields& graph, std::string_view name) {
  for (std::size_t k = 0; k < graph.texts(5).size(); ++k)
    if (graph.part(5, k).text(8) == name) return graph.part(5, k);
  throw std::runtime_error("no tensor " + std::string(name));
}
template <class Numbers>
std::string bytes_of(const Numbers& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

} // namespace

TEST_CASE("write_onnx: a file has the layers of all blocks, and the weights by their names") {
  const folder here;
  const std::string path = here.path / "net.onnx";
  model<Net, batch<2>> net{{.seed = 3}};
  write_onnx(net, path);
  const fields file(contents(path));
  CHECK(file.integer(1) == 8);          // ir_version
  CHECK(file.part(8).integer(2) == 17); // of the operators
  const fields graph = file.part(7);
  CHECK(types_of_nodes(graph) ==
        std::vector<std::string>{"Gemm", "Relu", "Gemm", "Relu", "Add", "Gemm", "Relu", "Add", "Gemm", "Identity"});
  std::size_t weights = 0;
  net.for_each([&](const auto& q) {
    const fields w = tensor_of(graph, q.name);
    CHECK(w.text(9) == bytes_of(q.numbers));
    CHECK(w.integers(1).size() == q.facts->rank());
    ++weights;
  });
  CHECK(weights == 8);
  CHECK(graph.texts(5).size() == 8); // no constants
  CHECK(graph.part(11).text(1) == "input");
  CHECK(graph.part(12).text(1) == "output");
  CHECK(graph.part(12).part(2).part(1).part(2).part(1, 1).integer(1) == 3);
  CHECK(here.files() == 1);
}

TEST_CASE("write_onnx: a trainer writes what a model of its parameters does, whatever the policy") {
  const folder here;
  trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, SGD, batch<4>> train{SGD{}, {.seed = 9}};
  model<Net, batch<2>> net;
  net.copy_parameters(train);
  write_onnx(train, here.path / "a.onnx");
  write_onnx(net, here.path / "b.onnx");
  CHECK(contents(here.path / "a.onnx") == contents(here.path / "b.onnx"));
}

TEST_CASE("write_onnx: weights are in a file beside a graph that would be too large, at whole pages") {
  const folder here;
  const std::string path = here.path / "net.onnx", data = path + ".data";
  model<Net, batch<2>> net{{.seed = 3}};
  write_onnx(net, path);
  const std::size_t whole = contents(path).size();
  write_onnx(net, path, {.largest_file = whole});
  CHECK(contents(path).size() == whole);
  CHECK(!std::filesystem::exists(data));

  write_onnx(net, path, {.largest_file = whole - 1});
  const fields graph = fields(contents(path)).part(7);
  const std::string all = contents(data);
  std::size_t weights = 0;
  net.for_each([&](const auto& q) {
    const fields w = tensor_of(graph, q.name);
    CHECK(w.texts(9).empty());
    CHECK(w.part(13, 0).text(2) == "net.onnx.data"); // beside it, wherever both are
    const std::size_t offset = std::stoul(w.part(13, 1).text(2)), length = std::stoul(w.part(13, 2).text(2));
    CHECK(offset % 4096 == 0);
    CHECK(all.substr(offset, length) == bytes_of(q.numbers));
    ++weights;
  });
  CHECK(weights == 8);
  CHECK(here.files() == 2);
}

TEST_CASE("write_onnx: the weight of a convolution is turned, and channels are moved at the ends") {
  const folder here;
  const std::string path = here.path / "net.onnx";
  model<Sequential<Input<6, 6, 3>, Conv2d<3, 4, 3>, ReLU, Conv2d<4, 2, 1, no_bias>>, batch<2>> net{{.seed = 3}};
  write_onnx(net, path);
  const fields graph = fields(contents(path)).part(7);
  CHECK(types_of_nodes(graph) == std::vector<std::string>{"Transpose", "Conv", "Relu", "Conv", "Transpose", "Identity"});
  const fields w = tensor_of(graph, "0.weight");
  CHECK(w.integers(1) == std::vector<std::uint64_t>{4, 3, 3, 3});
  std::vector<float> found(108);
  std::memcpy(found.data(), w.text(9).data(), w.text(9).size());
  const auto here_is = net.parameter("0.weight"); // (out, height, width, in)
  for (std::size_t o = 0; o < 4; ++o)
    for (std::size_t p = 0; p < 9; ++p)
      for (std::size_t i = 0; i < 3; ++i) CHECK(found[(o * 3 + i) * 9 + p] == here_is[(o * 9 + p) * 3 + i]);
}

TEST_CASE("write_onnx: 16 bits are written as float, double as double") {
  const folder here;
  model<Net, batch<2>, bfloat16> narrow{{.seed = 3}};
  write_onnx(narrow, here.path / "a.onnx");
  const fields w = tensor_of(fields(contents(here.path / "a.onnx")).part(7), "0.weight");
  CHECK(w.integer(2) == 1);
  CHECK(w.text(9) == bytes_of(narrow.parameter("0.weight")));
  model<Net, batch<2>, double> wide{{.seed = 3}};
  write_onnx(wide, here.path / "b.onnx");
  const fields graph = fields(contents(here.path / "b.onnx")).part(7);
  CHECK(tensor_of(graph, "0.weight").integer(2) == 11);
  CHECK(tensor_of(graph, "0.weight").text(9) == bytes_of(wide.parameter("0.weight")));
  CHECK(graph.part(11).part(2).part(1).integer(1) == 11);
}

TEST_CASE("write_onnx: a file that cannot be written is an error, and the old one stays") {
  const folder here;
  model<Net, batch<2>> net;
  CHECK_THROWS_WITH_AS(write_onnx(net, here.path / "none" / "net.onnx"), doctest::Contains("none/net.onnx"), file_error);
  const std::filesystem::path path = here.path / "net.onnx";
  std::ofstream(path) << "old";
  std::filesystem::create_directory(path.string() + ".data"); // where the weights would be
  CHECK_THROWS_WITH_AS(write_onnx(net, path, {.largest_file = 0}), doctest::Contains("net.onnx.data"), file_error);
  CHECK(contents(path) == "old");
  write_onnx(net, path);
  CHECK(fields(contents(path)).integer(1) == 8);
}

} // namespace write_onnx_tests
