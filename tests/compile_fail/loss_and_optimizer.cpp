// SPDX-License-Identifier: MIT
// Loss and optimizer in the wrong order.
// expect: error: .*trainer: the second argument is no loss
// expect: checked_loss<SGD,
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using training = trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, SGD, batch<32>>;
#else
using training = trainer<Sequential<Linear<784, 10>>, SGD, CrossEntropyLoss, batch<32>>;
#endif

double learn(const training& train) { return train.learning_rate(); }
