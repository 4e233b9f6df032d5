// SPDX-License-Identifier: MIT
// A step without targets.
// expect: error: .*trainer: expected numbers that lie one after another
// expect: refused_call<4, std::vector<float
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
double learn(training& train, const std::vector<float>& images, const std::vector<int>& labels) {
  return train.step(images, labels);
}
#else
double learn(training& train, const std::vector<float>& images, const std::vector<int>&) { return train.step(images); }
#endif
