// SPDX-License-Identifier: MIT
// A mask of integers where the network takes one of its element type.
// expect: error: .*trainer: inputs must have the trainer.s element type
// expect: wrong_inputs<int, float>
#include <vector>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Inputs<dims<16>, constant<16>>, Linear<16, 4>>;

#ifdef EXPECT_SUCCESS
using masks = std::vector<float>;
#else
using masks = std::vector<int>;
#endif

double learn(const std::vector<float>& hidden, const masks& mask, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(inputs(hidden, mask), labels);
}
