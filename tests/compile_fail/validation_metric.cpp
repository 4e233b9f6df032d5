// SPDX-License-Identifier: MIT
// A validation by something that is no metric.
// expect: error: .*validation: one of these is no metric
// expect: wrong_metrics<metrics::Accuracy, CrossEntropyLoss>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/fit/validation.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>

using namespace cairn;

using data = tensor_dataset<float, int>;

#ifdef EXPECT_SUCCESS
void check(const data& all) { validation made{all, sampler{}, batch<64>{}, metrics::Accuracy{}}; }
#else
void check(const data& all) { validation made{all, sampler{}, batch<64>{}, metrics::Accuracy{}, CrossEntropyLoss{}}; }
#endif
