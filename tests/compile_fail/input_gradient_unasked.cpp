// SPDX-License-Identifier: MIT
// The gradient of the input, of a network that is not asked to make it.
// expect: error: .*trainer: this network's input gradient is not made; write trainer<with_input_gradient<Net>, ...>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using Model = with_input_gradient<Net>;
#else
using Model = Net;
#endif

float first(trainer<Model, CrossEntropyLoss, SGD, batch<32>>& train) { return train.input_gradient().data()[0]; }
