// SPDX-License-Identifier: MIT
// The same with the type written out.
// expect: error: .*fused_update: clip needs the norm of all gradients before the first update
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

trainer<Model, CrossEntropyLoss, SGD, batch<32>> train{SGD{.learning_rate = 0.1}, {.seed = 7, .clip = clip_norm{1}}};
