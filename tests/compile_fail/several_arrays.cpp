// SPDX-License-Identifier: MIT
// A network that takes a tensor and a mask, and is given one array.
// expect: error: .*trainer: this network takes another number of arrays; write step.inputs.a, b, \.\.\.., targets.
#include <vector>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Inputs<dims<16>, constant<16>>, Linear<16, 4>>;

double learn(const std::vector<float>& hidden, const std::vector<float>& mask, const std::vector<int>& labels) {
  trainer<Net, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
#ifdef EXPECT_SUCCESS
  return train.step(inputs(hidden, mask), labels);
#else
  static_cast<void>(mask);
  return train.step(hidden, labels);
#endif
}
