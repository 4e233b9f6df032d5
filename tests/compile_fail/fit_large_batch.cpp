// SPDX-License-Identifier: MIT
// Batches that are larger than the trainer has room for.
// expect: error: .*fit: a loader or a validation gives larger batches
// expect: larger_than_planned<(loader<.*|batches), 64, 32>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/train/fit/fit.hpp>
#include <cairn/train/fit/validation.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/trainer.hpp>

using namespace cairn;

using data = tensor_dataset<float, int>;
using training = trainer<Sequential<Linear<784, 10>>, CrossEntropyLoss, SGD, batch<32>>;

#ifdef EXPECT_SUCCESS
using batches = loader<data, distributed_sampler, 32>;
#else
using batches = loader<data, distributed_sampler, 64>;
#endif

void train(training& net, batches& all) { fit(net, all, {}); }
