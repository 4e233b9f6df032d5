// SPDX-License-Identifier: MIT
// Numbers of a type that no network is made of.
// expect: error: .*trainer: the fifth argument is the type of the network.s elements
// expect: fifth_argument<long double>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/cross_entropy_loss.hpp>
#include <cairn/train/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using number = bfloat16;
#else
using number = long double;
#endif

double learn(const std::vector<float>& images, const std::vector<int>& labels) {
  trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, SGD, batch<32>, number> train{SGD{.learning_rate = 0.1}, {.seed = 7}};
  return train.step(images, labels);
}
