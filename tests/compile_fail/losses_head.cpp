// SPDX-License-Identifier: MIT
// Losses in the other order than the heads: one of classes for a head that makes one number.
// expect: error: .*multi::losses: the loss of this head does not accept what the head makes
// expect: loss_at_head<1.*CrossEntropyLoss, .*dims<1
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 16>, ReLU, multi::Heads<Linear<16, 10>, Linear<16, 1>>>;

#ifdef EXPECT_SUCCESS
using Losses = multi::losses<CrossEntropyLoss, MSELoss>;
#else
using Losses = multi::losses<MSELoss, CrossEntropyLoss>;
#endif
using Train = trainer<with_all_outputs<Net>, Losses, SGD, batch<32>>;

Train make() { return Train{SGD{.learning_rate = 0.1}}; }
