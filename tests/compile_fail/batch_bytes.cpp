// SPDX-License-Identifier: MIT
// A batch of more samples than there can be.
// expect: error: .*batch: a batch has room for at most 4294967296 samples
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
#ifdef EXPECT_SUCCESS
using learner = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;
#else
using learner = trainer<Net, CrossEntropyLoss, SGD, batch<(std::size_t{1} << 40)>>;
#endif

std::uint64_t start() { return learner(SGD{.learning_rate = 0.1}).checksum(); }
