// SPDX-License-Identifier: MIT
// Loss scaling, which needs the norm of all gradients, with a fused update.
// expect: error: .*fused_update: loss_scale needs the norm of all gradients before the first update
#include <cairn/core/float16.hpp>
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

trainer<Model, CrossEntropyLoss, SGD, batch<32>, float16> train{SGD{.learning_rate = 0.1}, {.loss_scale = dynamic_scale{}}};
