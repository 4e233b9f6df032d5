// SPDX-License-Identifier: MIT
// A loss over classes at the end of a network that makes one number.
// expect: error: .*trainer: this loss does not accept what the last layer produces
// expect: loss_joint<CrossEntropyLoss, Linear<64, 1>, dims<1>>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 64>, Linear<64, 10>>;
#else
using Net = Sequential<Linear<784, 64>, Linear<64, 1>>;
#endif

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
