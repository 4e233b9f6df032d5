// SPDX-License-Identifier: MIT
// Targets of a loss that compares numbers are integers.
// expect: error: .*trainer: this loss takes no targets of this type, but the numbers that the network makes
// expect: wrong_targets<MSELoss, (int|target)>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using target = float;
#else
using target = int;
#endif

double learn(const std::vector<float>& images, const std::vector<target>& values) {
  trainer<Sequential<Linear<784, 10>>, MSELoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, values);
}
