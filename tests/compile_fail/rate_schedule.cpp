// SPDX-License-Identifier: MIT
// A rate that is no schedule.
// expect: error: .*trainer: the option learning_rate takes a number or a schedule
// expect: wrong_rate<SGD>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
void train() { training made{SGD{}, {.learning_rate = 0.1}}; }
#else
void train() { training made{SGD{}, {.learning_rate = SGD{.learning_rate = 0.1}}}; }
#endif
