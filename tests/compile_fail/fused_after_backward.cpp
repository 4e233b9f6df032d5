// SPDX-License-Identifier: MIT
// Buckets that leave after backward and are used inside of it.
// expect: error: .*ddp: fused_update uses each bucket inside backward
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using when = overlapped;
#else
using when = after_backward;
#endif

using learner = trainer<ddp<fused_update<Net>, threads::rank, when>, CrossEntropyLoss, SGD, batch<32>>;
std::uint64_t start(threads::rank& rank) { return learner(rank, SGD{.learning_rate = 0.1}).checksum(); }
