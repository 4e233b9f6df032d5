// SPDX-License-Identifier: MIT
// A trainer of a ddp that is not told its rank.
// expect: error: .*trainer: its model is a ddp, so this rank comes first
// expect: refused_arguments<1, SGD, SGD>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
void train(threads::rank& rank) { training made{rank, SGD{.learning_rate = 0.1}, {.seed = 7}}; }
#else
void train(threads::rank&) { training made{SGD{.learning_rate = 0.1}, {.seed = 7}}; }
#endif
