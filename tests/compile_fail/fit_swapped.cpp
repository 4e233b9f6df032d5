// SPDX-License-Identifier: MIT
// The loader before the trainer.
// expect: error: .*fit: expected a trainer, a loader
// expect: refused_fit<(loader<|batches)
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
using batches = loader<data, distributed_sampler, 32>;

#ifdef EXPECT_SUCCESS
void train(training& net, batches& all) { fit(net, all, {.max_epochs = 2}); }
#else
void train(training& net, batches& all) { fit(all, net, {.max_epochs = 2}); }
#endif
