// SPDX-License-Identifier: MIT
// A weight of 2^64 numbers: counted in 64 bits they would be none.
// expect: error: .*trainer: this network has 2\^48 parameters or more
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

inline constexpr std::size_t wide = std::size_t{1} << 32;
#ifdef EXPECT_SUCCESS
using learner = trainer<Sequential<Linear<784, 10>>, MSELoss, SGD, batch<1>>;
#else
using learner = trainer<Sequential<Linear<wide, wide>>, MSELoss, SGD, batch<1>>;
#endif

std::uint64_t start() { return learner(SGD{.learning_rate = 0.1}).checksum(); }
