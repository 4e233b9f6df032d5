// SPDX-License-Identifier: MIT
// A look at gradients that are gone.
// expect: error: .*fused_update: gradients\(\) shows all gradients after a step
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using Model = Net;
#else
using Model = fused_update<Net>;
#endif

float first_of(trainer<Model, CrossEntropyLoss, SGD, batch<32>>& train) { return train.gradients()[0]; }
