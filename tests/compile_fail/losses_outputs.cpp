// SPDX-License-Identifier: MIT
// Two losses, and a network of three outputs.
// expect: error: .*multi::losses: expected a network whose outputs are all used, and a loss for each of them
// expect: losses_without_outputs<.*MSELoss.*, 3
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

using Net = Sequential<Linear<784, 16>, ReLU, multi::Heads<Linear<16, 10>, Linear<16, 4>, Linear<16, 1>>>;

#ifdef EXPECT_SUCCESS
using Losses = multi::losses<CrossEntropyLoss, MSELoss, MSELoss>;
#else
using Losses = multi::losses<CrossEntropyLoss, MSELoss>;
#endif
using Train = trainer<with_all_outputs<Net>, Losses, SGD, batch<32>>;

Train make() { return Train{SGD{.learning_rate = 0.1}}; }
