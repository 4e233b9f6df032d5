// SPDX-License-Identifier: MIT
#include <cairn/train/state/weights_to_save.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/train/model.hpp>
#include <cairn/train/state/safetensors.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../training.hpp"

namespace weights_to_save_tests {

using namespace cairn;

namespace {

// Its parameters: 0.weight (6, 2), 0.bias (6), 1.weight (2, 6), 1.bias (2).
using Net = Sequential<Linear<2, 6>, Linear<6, 2>>;

template <class Owner>
std::vector<float> weights_of(Owner& owner) {
  std::vector<float> out;
  owner.for_each([&](const auto& q) { out.insert(out.end(), q.numbers.begin(), q.numbers.end()); });
  return out;
}

} // namespace

TEST_CASE("weights_to_save: what is written by sources is read by them") {
  const folder here;
  const std::string path = (here.path / "net.safetensors").string();
  const types::weights_options names{.from = "net.",
                                     .sources = {{.parameter = "0.weight", .tensors = {"a.*", "b", "c"}, .transposed = true},
                                                 {.parameter = "0.bias", .tensors = {"biases"}, .first_row = 2},
                                                 {.parameter = "1.bias", .tensors = {"biases"}, .first_row = 0},
                                                 {.parameter = "1.bias", .tensors = {"never"}}}};
  types::weights_options mended = names;
  mended.sources[0].tensors[0] = "a";
  const model<Net, batch<2>> net{{.seed = 3}};
  save_weights(net, path, mended, {{"format", "pt"}});
  files::safetensors_file file(path);
  CHECK(file.metadata().at("format") == "pt");
  CHECK(file.entries().size() == 5);
  for (const char* part : {"net.a", "net.b", "net.c"}) {
    REQUIRE(file.find(part) != nullptr);
    CHECK(file.find(part)->extents == std::vector<std::uint64_t>{2, 2});
  }
  REQUIRE(file.find("net.1.weight") != nullptr);
  std::vector<float> b(4), biases(8);
  file.read(*file.find("net.b"), std::span<float>(b));
  const auto own = net.parameter("0.weight");
  CHECK(b == std::vector<float>{own[4], own[6], own[5], own[7]});
  file.read(*file.find("net.biases"), std::span<float>(biases));
  CHECK(biases[0] == net.parameter("1.bias")[0]);
  CHECK(biases[7] == net.parameter("0.bias")[5]);

  model<Net, batch<2>> other{{.seed = 4}};
  CHECK(load_weights(other, path, mended).is_all());
  CHECK(weights_of(other) == weights_of(net));
  CHECK(testing::text_of([&] { save_weights(net, path, names); }) ==
        "save_weights: the source of '0.weight': 'a.*' has more * than the parameter, which says what they stand for");

  // Rows of one transposed matrix, and a part of a network.
  types::weights_options part{.to = "0.", .sources = {{.parameter = "0", .tensors = {"layer"}, .transposed = true}}};
  save_weights(net, path, part);
  files::safetensors_file alone(path);
  CHECK(alone.entries().size() == 2);
  REQUIRE(alone.find("layer.weight") != nullptr);
  CHECK(alone.find("layer.weight")->extents == std::vector<std::uint64_t>{2, 6});
  CHECK(load_weights(other, path, part).is_all());
}

TEST_CASE("weights_to_save: rows that would be written twice, or by no parameter, are an error") {
  const folder here;
  const std::string path = (here.path / "net.safetensors").string();
  const model<Net, batch<2>> net;
  const auto said = [&](std::vector<types::weight_source> sources) {
    return testing::text_of([&] { save_weights(net, path, types::weights_options{.sources = std::move(sources)}); });
  };
  CHECK(said({{.parameter = "1.weight", .tensors = {"a", "b", "c"}}}) ==
        "save_weights: expected rows of '1.weight' for 3 tensors of equal size, found 2 rows");
  CHECK(said({{.parameter = "0.bias", .tensors = {"a"}}, {.parameter = "1.bias", .tensors = {"a"}}}) ==
        "save_weights: row 0 of 'a' would be from '0.bias' and from '1.bias'");
  CHECK(said({{.parameter = "0.bias", .tensors = {"a"}, .first_row = 0},
              {.parameter = "1.bias", .tensors = {"a"}, .first_row = 5}}) ==
        "save_weights: row 5 of 'a' would be from '0.bias' and from '1.bias'");
  CHECK(said({{.parameter = "0.bias", .tensors = {"a"}, .first_row = 3},
              {.parameter = "1.bias", .tensors = {"a"}, .first_row = 0}}) ==
        "save_weights: expected a parameter for row 2 of 'a', found none before '0.bias', which begins at row 3");
  CHECK(said({{.parameter = "0.weight", .tensors = {"a"}}, {.parameter = "1.weight", .tensors = {"a"}, .first_row = 6}}) ==
        "save_weights: '0.weight' (6, 2) and '1.weight' (2, 6) would both be in 'a', and have rows of other shapes");
  CHECK(said({{.parameter = "0.bias", .tensors = {"0.weight"}}}) ==
        "save_weights: '0.weight' (6, 2) and '0.bias' (6) would both be in '0.weight', and have rows of other shapes");
  CHECK_FALSE(std::filesystem::exists(path));
}

} // namespace weights_to_save_tests
