// SPDX-License-Identifier: MIT
// Samples in vectors of their own.
// expect: error: .*trainer: a vector of vectors does not lie in one piece
// expect: refused_call<2, (std::vector<std::vector<float|array)
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using Net = Sequential<Linear<784, 10>>;
using training = trainer<Net, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
using array = std::vector<float>;
#else
using array = std::vector<std::vector<float>>;
#endif

double learn(training& train, const array& images, const std::vector<int>& labels) { return train.evaluate_loss(images, labels); }
