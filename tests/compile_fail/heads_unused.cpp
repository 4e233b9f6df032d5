// SPDX-License-Identifier: MIT
// Two heads of which the loss sees the first only.
// expect: error: .*multi::Heads: a head of this block is used by no layer after it and not by the loss
// expect: unused_head<.*Heads<
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

using Net = Sequential<Linear<784, 16>, ReLU, multi::Heads<Linear<16, 10>, Linear<16, 4>>>;

#ifdef EXPECT_SUCCESS
using Train = trainer<with_all_outputs<Net>, multi::losses<CrossEntropyLoss, MSELoss>, SGD, batch<32>>;
#else
using Train = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;
#endif

Train make() { return Train{SGD{.learning_rate = 0.1}}; }
