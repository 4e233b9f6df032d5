// SPDX-License-Identifier: MIT
// Statistics over all ranks of a block that has only its own rank's.
// expect: error: .*ddp: sync_batch_norm does not reach into a DenseBlock
#include <cairn/comm/threads/threads.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/dense/dense_block.hpp>
#include <cairn/train/ddp.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Input<4, 4, 3>, DenseBlock<1, 2>, Flatten, Linear<80, 2>>;
#ifdef EXPECT_SUCCESS
using Replica = ddp<Net, threads::rank>;
#else
using Replica = ddp<Net, threads::rank, sync_batch_norm>;
#endif

void train(threads::rank& rank) { trainer<Replica, CrossEntropyLoss, SGD, batch<2>> t{rank, SGD{}, {}}; }
