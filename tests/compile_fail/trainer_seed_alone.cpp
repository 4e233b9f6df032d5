// SPDX-License-Identifier: MIT
// A seed without its name.
// expect: error: .*trainer: options are given by their names
// expect: refused_arguments<5, SGD, SGD, int>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
void train() { training made{SGD{.learning_rate = 0.1}, {.seed = 7}}; }
#else
void train() { training made{SGD{.learning_rate = 0.1}, 7}; }
#endif
