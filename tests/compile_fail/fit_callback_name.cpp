// SPDX-License-Identifier: MIT
// A callback by the name that other libraries have for it.
// expect: error: .*fit: a callback has on_resume
// expect: misnamed_callback<said>
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

struct said {
  void on_begin(auto&) {}

#ifdef EXPECT_SUCCESS
  void on_epoch(auto&) {}
#else
  void on_epoch_end(auto&) {}
#endif
};
void train(training& net, batches& all) { fit(net, all, {}, said{}); }
