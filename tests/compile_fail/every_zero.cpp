// SPDX-License-Identifier: MIT
// No stages between two stored inputs.
// expect: error: .*every<K>: K is the number of stages from one stored input to the next, at least 1
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = checkpoint<every<2>, Sequential<Linear<784, 16>, Linear<16, 10>>>;
#else
using Net = checkpoint<every<0>, Sequential<Linear<784, 16>, Linear<16, 10>>>;
#endif

double learn(const std::vector<float>& x, const std::vector<int>& y) {
  trainer<Net, CrossEntropyLoss, SGD, batch<8>> train{SGD{.learning_rate = 0.1}};
  return train.step(x, y);
}
