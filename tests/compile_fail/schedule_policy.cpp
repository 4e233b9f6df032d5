// SPDX-License-Identifier: MIT
// A policy among the options.
// expect: error: .*trainer: the option schedule takes what memory_curve::within.. solved
// expect: wrong_schedule<sqrt_n>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;

#ifdef EXPECT_SUCCESS
void train() { trainer<checkpoint<sqrt_n, Net>, CrossEntropyLoss, SGD, batch<32>> made{SGD{}, {.seed = 7}}; }
#else
void train() { trainer<Net, CrossEntropyLoss, SGD, batch<32>> made{SGD{}, {.seed = 7, .schedule = sqrt_n{}}}; }
#endif
