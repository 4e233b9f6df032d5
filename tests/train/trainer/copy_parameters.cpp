// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/core/error.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace trainer_copy_parameters_tests {

using namespace cairn;
using testing::Net;
using testing::samples;

namespace {

template <class Model, std::size_t Batch = 6>
using training = trainer<Model, CrossEntropyLoss, SGD, batch<Batch>>;

} // namespace

TEST_CASE("copy_parameters: another policy and batch compute the same with them, bit for bit") {
  training<Net> own{testing::momentum, {.seed = 3}};
  training<checkpoint<sqrt_n, Net>, 11> other{testing::momentum, {.seed = 4}};
  const samples s(6, 1);
  for (int step = 0; step < 3; ++step) own.step(s.x, s.y);
  CHECK(other.evaluate_loss(s.x, s.y) != own.evaluate_loss(s.x, s.y));
  other.copy_parameters(own);
  CHECK(other.checksum() == own.checksum());
  CHECK(other.evaluate_loss(s.x, s.y) == own.evaluate_loss(s.x, s.y));
  REQUIRE(own.buffers().size() == other.buffers().size());
  REQUIRE(own.buffers().size() > 0);
  for (std::size_t i = 0; i < own.buffers().size(); ++i) CHECK(own.buffers()[i] == other.buffers()[i]);
}

TEST_CASE("copy_parameters: nested checkpoints have them at the same places") {
  using Plain = Sequential<Linear<10, 16>, ReLU, Linear<16, 16>, LayerNorm<16>, Linear<16, 4>>;
  using Blocks =
      Sequential<Linear<10, 16>, checkpoint<recompute_all, Sequential<ReLU, Linear<16, 16>, LayerNorm<16>>>, Linear<16, 4>>;
  training<Plain> plain{testing::momentum, {.seed = 3}};
  training<Blocks> blocks{testing::momentum, {.seed = 5}};
  const samples s(6, 1);
  plain.step(s.x, s.y);
  blocks.copy_parameters(plain);
  CHECK(blocks.evaluate_loss(s.x, s.y) == plain.evaluate_loss(s.x, s.y));
}

TEST_CASE("copy_parameters: a replica hands them to a trainer of its own") {
  const samples s(6, 1);
  threads{2}.run([&](threads::rank& rank) {
    training<ddp<Net, threads::rank>> replica{rank, testing::momentum, {.seed = 3}};
    replica.step(s.x, s.y);
    training<Net> alone{testing::momentum, {.seed = 4}};
    alone.copy_parameters(replica);
    CHECK(alone.checksum() == replica.checksum());
  });
}

namespace {

// A network of sequences of T tokens, with a row of positions for each of P.
template <std::size_t T, std::size_t P, std::size_t Out = 4>
using Words = Sequential<Inputs<integers<T>>, Embedding<11, 8>, LearnedPositions<P, 8>, Residual<LayerNorm<8>, Linear<8, 8>>,
                         Linear<8, Out>>;

} // namespace

TEST_CASE("copy_parameters: the same layers for shorter sequences take the first rows of the positions") {
  model<Words<6, 6>, batch<2>> whole{{.seed = 3}};
  model<Words<4, 4>, batch<2>> part{{.seed = 4}};
  model<Words<4, 6>, batch<2>> same_rows{{.seed = 5}};
  part.copy_parameters(whole);
  same_rows.copy_parameters(whole);
  const std::vector<std::int32_t> six{1, 2, 10, 4, 0, 0}, four{1, 2, 10, 4};
  const auto expected = whole.evaluate(six);
  const std::vector<float> first(expected.begin(), expected.begin() + 4 * 4); // of the first four tokens
  const auto in_part = part.evaluate(four), with_same_rows = same_rows.evaluate(four);
  CHECK(std::vector<float>(in_part.begin(), in_part.end()) == first);
  CHECK(std::vector<float>(with_same_rows.begin(), with_same_rows.end()) == first);
  for (const char* const name : {"0.weight", "2.0.weight", "2.1.weight", "2.1.bias", "3.weight", "3.bias"}) {
    const auto to = part.parameter(name), from = whole.parameter(name);
    CHECK(std::vector<float>(to.begin(), to.end()) == std::vector<float>(from.begin(), from.end()));
  }
}

TEST_CASE("copy_parameters: positions that the other network does not have are refused, and nothing is copied") {
  model<Words<4, 4>, batch<2>> part{{.seed = 3}};
  model<Words<6, 6>, batch<2>> whole{{.seed = 4}};
  const auto before = whole.checksum();
  try {
    whole.copy_parameters(part);
    FAIL("expected an error");
  } catch (const input_error& e) {
    const std::string said = e.what();
    CHECK(said.find("expected 1.weight of the shape (6, 8), or with more rows, found the shape (4, 8)") != std::string::npos);
  }
  CHECK(whole.checksum() == before);
}

} // namespace trainer_copy_parameters_tests
