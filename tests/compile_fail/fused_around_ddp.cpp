// SPDX-License-Identifier: MIT
// The fused update around the replica.
// expect: error: .*fused_update: it stands inside ddp: write ddp<fused_update<...>, Communicator>
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using Model = ddp<fused_update<Net>, threads::rank>;
#else
using Model = fused_update<ddp<Net, threads::rank>>;
#endif

using learner = trainer<Model, CrossEntropyLoss, SGD, batch<32>>;
std::uint64_t start(threads::rank& rank) { return learner(rank, SGD{.learning_rate = 0.1}).checksum(); }
