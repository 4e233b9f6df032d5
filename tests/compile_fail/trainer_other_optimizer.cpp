// SPDX-License-Identifier: MIT
// Another optimizer than the one that the type names.
// expect: error: .*trainer: the optimizer is of another type
// expect: refused_arguments<4, (SGD|chosen), Adam>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;

#ifdef EXPECT_SUCCESS
using chosen = Adam;
#else
using chosen = SGD;
#endif

void train() { trainer<Net, CrossEntropyLoss, chosen, batch<32>> made{Adam{.learning_rate = 0.1}, {.seed = 7}}; }
