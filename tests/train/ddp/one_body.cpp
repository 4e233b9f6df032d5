// SPDX-License-Identifier: MIT
// The body that a job runs on each rank does not change with what makes the ranks.
#include <cstdint>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

using namespace cairn;

namespace {

using Net = Sequential<Linear<testing::features, 8>, ReLU, Linear<8, testing::classes>>;

// The weights that rank 0 ends with, as README.md's program trains.
template <class Communicator>
std::uint64_t trained_over(const Communicator& communicator) {
  using rank_type = typename Communicator::rank;
  const testing::samples<> s(24, 1);
  const tensor_dataset<float, int> data(shape{testing::features}, s.x, 1, s.y);
  std::uint64_t weights = 0;
  communicator.run([&](rank_type& rank) {
    trainer<ddp<Net, rank_type>, CrossEntropyLoss, SGD, batch<6>> train{rank, testing::momentum, {.seed = 7, .threads = 1}};
    loader batches{data, sampler{rank}, batch<6>{}};
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& [inputs, targets] : batches) train.step(inputs, targets);
    CHECK(train.steps() == 8 / static_cast<std::uint64_t>(rank.size()));
    if (rank.rank() == 0) weights = train.checksum();
  });
  return weights;
}

} // namespace

TEST_CASE("ddp: one body trains over loopback and over threads, and one thread has the bits of loopback") {
  const std::uint64_t alone = trained_over(loopback{});
  CHECK(trained_over(threads{1}) == alone);
  CHECK(trained_over(threads{2}) != alone); // which makes half as many steps
}
