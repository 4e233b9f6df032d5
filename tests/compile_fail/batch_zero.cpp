// SPDX-License-Identifier: MIT
// A batch without a sample.
// expect: error: .*batch: a batch needs room for at least one sample; write batch<1> or more
// expect: batch<0>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;
#else
using training = trainer<Net, CrossEntropyLoss, SGD, batch<0>>;
#endif

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  training train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
