// SPDX-License-Identifier: MIT
// Averages of a trainer that keeps none.
// expect: error: .*copy_averages: this trainer keeps no averages of its parameters
#include <cairn/layer/linear.hpp>
#include <cairn/train/fit/ema.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using Optimizer = ema<SGD>;
#else
using Optimizer = SGD;
#endif

void look(trainer<Net, CrossEntropyLoss, Optimizer, batch<32>>& train, model<Net, batch<64>>& net) { copy_averages(train, net); }
