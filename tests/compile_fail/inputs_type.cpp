// SPDX-License-Identifier: MIT
// Inputs of another type than the trainer calculates with.
// expect: error: .*trainer: inputs must have the trainer.s element type
// expect: wrong_inputs<(double|number_of<images>), float>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using images = std::vector<float>;
#else
using images = std::vector<double>;
#endif

double learn(const images& inputs, const std::vector<int>& labels) {
  trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(inputs, labels);
}
