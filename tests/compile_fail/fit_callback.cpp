// SPDX-License-Identifier: MIT
// An object that is no callback.
// expect: error: .*fit: this object has none of the members on_resume
// expect: no_callback<metrics::Accuracy>
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
void train(training& net, batches& all, const data& test) {
  fit(net, all, {}, validation{test, sampler{}, batch<32>{}, metrics::Accuracy{}});
}
#else
void train(training& net, batches& all, const data&) { fit(net, all, {}, metrics::Accuracy{}); }
#endif
