// SPDX-License-Identifier: MIT
// The gradient of integers.
// expect: error: .*with_input_gradient: no tensor that this network takes has a gradient; leave it out
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Inputs<integers<4>>, Embedding<100, 8>, Flatten, Linear<32, 10>>;
#ifdef EXPECT_SUCCESS
using Model = Net;
#else
using Model = with_input_gradient<Net>;
#endif

std::uint64_t start() { return trainer<Model, CrossEntropyLoss, SGD, batch<32>>{SGD{.learning_rate = 0.1}}.checksum(); }
