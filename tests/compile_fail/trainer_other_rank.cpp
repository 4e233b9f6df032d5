// SPDX-License-Identifier: MIT
// A rank of another kind than the one that ddp names.
// expect: error: .*trainer: the rank is of another type
// expect: refused_arguments<3, SGD, (loopback_rank|given|loopback::rank) ?&, SGD>
#include <cairn/comm/loopback.hpp>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<ddp<Net, threads::rank>, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
using given = threads::rank;
#else
using given = loopback::rank;
#endif

void train(given& rank) { training made{rank, SGD{.learning_rate = 0.1}}; }
