// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
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

} // namespace trainer_copy_parameters_tests
