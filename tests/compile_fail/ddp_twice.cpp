// SPDX-License-Identifier: MIT
// A replica of a replica.
// expect: error: .*ddp: a model is replicated once
// expect: replicated_again<ddp<ddp<(Net|Sequential<Linear<784, 10>>), (loopback_rank|loopback::rank)>, (loopback_rank|loopback::rank)>>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using training = trainer<ddp<Net, loopback::rank>, CrossEntropyLoss, SGD, batch<32>>;
#else
using training = trainer<ddp<ddp<Net, loopback::rank>, loopback::rank>, CrossEntropyLoss, SGD, batch<32>>;
#endif

double learn(loopback::rank& rank, const std::vector<float>& images, const std::vector<int>& labels) {
  training train{rank, SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
