// SPDX-License-Identifier: MIT
// The body that a job runs on each rank is the same for every communicator.
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <cairn/comm/launch/chosen_ranks.hpp>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/trainer.hpp>

#include "../training.hpp"

namespace ddp_one_body_tests {

using namespace cairn;

namespace {

using Net = Sequential<Linear<testing::features, 8>, ReLU, Linear<8, testing::classes>>;

// The checksum of rank 0's weights after training like README.md's program.
template <class Communicator>
std::uint64_t trained_over(Communicator&& communicator) {
  using rank_type = typename std::remove_reference_t<Communicator>::rank;
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
  const std::uint64_t alone = trained_over(loopback{}), two = trained_over(threads{2});
  CHECK(trained_over(threads{1}) == alone);
  CHECK(two != alone); // two ranks make half as many steps
  CHECK(trained_over(chosen_ranks<>(launch{})) == alone);
  CHECK(trained_over(chosen_ranks<>(launch{}, {.ranks = 2})) == two);
}

TEST_CASE("ddp: a rank that trains over any_rank meets one that does not") {
  const testing::samples<> s(6, 1);
  std::atomic<std::uint64_t> weights[2]{};
  const auto train_over = [&](auto& rank) {
    trainer<ddp<Net, std::remove_reference_t<decltype(rank)>>, CrossEntropyLoss, SGD, batch<6>> train{
        rank, testing::momentum, {.seed = 7, .threads = 1}};
    train.step(s.x, s.y);
    weights[rank.rank()] = train.checksum();
  };
  threads{2}.run([&](threads::rank& rank) {
    any_rank any(rank);
    if (rank.rank() == 0) train_over(rank);
    else train_over(any);
  });
  CHECK(weights[0] != 0);
  CHECK(weights[0] == weights[1]);
}

} // namespace ddp_one_body_tests
