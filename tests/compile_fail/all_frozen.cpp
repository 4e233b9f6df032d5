// SPDX-License-Identifier: MIT
// A network that learns nothing.
// expect: error: .*frozen: every parameter of this network is frozen
// expect: nothing_learnt<(Sequential<frozen<|Net)
#include <cairn/layer/linear.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<frozen<Linear<784, 64>>, Linear<64, 10>>;
#else
using Net = Sequential<frozen<Sequential<Linear<784, 64>, Linear<64, 10>>>>;
#endif

void train() { trainer<Net, CrossEntropyLoss, SGD, batch<32>> made{SGD{.learning_rate = 0.1}}; }
