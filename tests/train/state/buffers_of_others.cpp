// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/train/state/buffers_of_others.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/subset.hpp>
#include <cairn/layer/batch_norm.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/state/saved_state.hpp>
#include <doctest/doctest.h>

#include "../../data/folder.hpp"
#include "../digits.hpp"
#include "../training.hpp"

namespace buffers_of_others_tests {

using namespace cairn;
using testing::classes;
using testing::features;

namespace {

using Net = Sequential<Linear<features, 8>, BatchNorm1d<8>, ReLU, Linear<8, classes>>;
using distributed = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<4>>;

std::vector<std::size_t> from_to(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> out;
  for (; begin < end; ++begin) out.push_back(begin);
  return out;
}

} // namespace

TEST_CASE("buffers_of_others: ranks that join go on with the running statistics of each") {
  const folder here;
  const std::string path = here.path / "run.state";
  const testing::digits d(40);
  const subset few(d.data, from_to(0, 16)), many(d.data, from_to(16, 40)); // 4 batches and 6
  std::vector<std::vector<float>> whole(2), resumed(2);
  const auto run = [&](bool is_resumed, std::vector<std::vector<float>>& out) {
    threads{2}.run([&](threads::rank& rank) {
      distributed train{rank, testing::momentum, {.seed = 3}};
      loader batches{rank.rank() == 0 ? few : many, sequential_sampler{}, batch<4>{}, types::loader_options{.prefetch = 0}};
      if (is_resumed) load_state(train, batches, path);
      CHECK(batches.place().batch == (is_resumed ? 2 : 0));
      for (const auto& [x, y] : batches) {
        train.step(x, y);
        if (!is_resumed && train.steps() == 2) save_state(train, batches, path);
      }
      train.join();
      CHECK(train.steps() == 6);
      auto& own = out[static_cast<std::size_t>(rank.rank())];
      own.assign(train.parameters().begin(), train.parameters().end());
      own.insert(own.end(), train.buffers().begin(), train.buffers().end());
    });
  };
  run(false, whole);
  run(true, resumed);
  CHECK(resumed[0] == whole[0]);
  CHECK(resumed[1] == whole[1]);

  // Readers of weights do not see them.
  model<Net, batch<4>> weights;
  CHECK(load_weights(weights, path).is_all());
}

TEST_CASE("buffers_of_others: each rank takes its own again") {
  threads{3}.run([](threads::rank& rank) {
    distributed train{rank, testing::momentum, {.seed = 3}};
    const float own = static_cast<float>(rank.rank() + 1);
    for (float& number : train.buffers()) number = own;
    detail::buffers_of_others all(train);
    CHECK(all.rank_has_buffers);
    all.gather(train);
    std::vector<files::safetensors_source> tensors;
    all.add_to(tensors);
    CHECK(tensors.size() == (rank.rank() == 0 ? 2 : 0));
    if (rank.rank() == 0) {
      CHECK(tensors[1].name == "rank/2/buffers");
      CHECK(reinterpret_cast<const float*>(tensors[1].bytes.data())[0] == 3);
    }
    for (float& number : train.buffers()) number = -1;
    all.scatter(train);
    train.for_each_buffer([&](const auto& q) {
      for (const float number : q.numbers)
        CHECK(number == (rank.rank() == 0 ? -1 : own)); // rank 0's are in the network's tensors
    });
  });
}

TEST_CASE("buffers_of_others: a network without any has none") {
  threads{2}.run([](threads::rank& rank) {
    trainer<ddp<Sequential<Linear<features, classes>>, threads::rank>, CrossEntropyLoss, SGD, batch<4>> train{rank, SGD{}};
    detail::buffers_of_others all(train);
    CHECK_FALSE(all.rank_has_buffers);
    all.gather(train);
    all.scatter(train);
    std::vector<files::safetensors_source> tensors;
    all.add_to(tensors);
    CHECK(tensors.empty());
  });
}

} // namespace buffers_of_others_tests
