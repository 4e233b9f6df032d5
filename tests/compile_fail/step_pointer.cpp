// SPDX-License-Identifier: MIT
// A pointer to the inputs, which does not say how many there are.
// expect: error: .*trainer: a pointer does not say how many numbers there are
// expect: refused_call<1, const float ?\*, std::vector<int
#include <span>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
double learn(training& train, const float* images, const std::vector<int>& labels) {
  return train.step(std::span(images, 32 * 784), labels);
}
#else
double learn(training& train, const float* images, const std::vector<int>& labels) { return train.step(images, labels); }
#endif
