// SPDX-License-Identifier: MIT
// Numbers of a type that no network is made of.
// expect: error: .*trainer: the fifth argument is the type of the network.s elements
// expect: fifth_argument<long double>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
#ifdef EXPECT_SUCCESS
  trainer<Net, CrossEntropyLoss, SGD, batch<32>, bfloat16> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
#else
  trainer<Net, CrossEntropyLoss, SGD, batch<32>, long double> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
#endif
  return train.step(images, labels);
}
