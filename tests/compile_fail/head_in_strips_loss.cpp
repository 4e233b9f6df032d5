// SPDX-License-Identifier: MIT
// A loss that is not computed strip by strip, after a layer that makes its output so.
// expect: error: .*trainer: the network ends with a head_in_strips, and this loss cannot be computed in strips on this device
// expect: loss_of_head<MSELoss, head_in_strips<Linear<64, 10>
#include <vector>

#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 64>, Linear<64, 10>>;
#else
using Net = Sequential<Linear<784, 64>, head_in_strips<Linear<64, 10>>>;
#endif

double learn(const std::vector<float>& images, const std::vector<float>& targets) {
  trainer<Net, MSELoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, targets);
}
