// SPDX-License-Identifier: MIT
// Targets that are no class numbers.
// expect: error: .*trainer: this loss takes no targets of this type, but integers
// expect: wrong_targets<CrossEntropyLoss, float>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using target = int;
#else
using target = float;
#endif

double learn(const std::vector<float>& images, const std::vector<target>& labels) {
  trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels) + train.evaluate_loss(images, labels);
}
