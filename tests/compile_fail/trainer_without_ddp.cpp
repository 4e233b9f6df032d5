// SPDX-License-Identifier: MIT
// A trainer of one rank that is told of several.
// expect: error: .*trainer: its model is no ddp, and takes no rank
// expect: refused_arguments<2, SGD, (thread_rank|threads::rank|rank) ?&, SGD>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;

#ifdef EXPECT_SUCCESS
using training = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<32>>;
#else
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;
#endif

void train(threads::rank& rank) { training made{rank, SGD{.learning_rate = 0.1}, {.seed = 7}}; }
