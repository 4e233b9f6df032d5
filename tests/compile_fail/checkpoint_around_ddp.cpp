// SPDX-License-Identifier: MIT
// The checkpoint around the replica.
// expect: error: .*checkpoint: it stands inside ddp: write ddp<checkpoint<Policy, ...>, Communicator>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using Model = ddp<checkpoint<sqrt_n, Net>, threads::rank>;
#else
using Model = checkpoint<sqrt_n, ddp<Net, threads::rank>>;
#endif

using learner = trainer<Model, CrossEntropyLoss, SGD, batch<32>>;
std::uint64_t start(threads::rank& rank) { return learner(rank, SGD{.learning_rate = 0.1}).checksum(); }
