// SPDX-License-Identifier: MIT
// A validation without a batch.
// expect: error: .*validation: expected a dataset, a sampler, batch<N>
// expect: wrong_validation<(tensor_dataset<float, int>|data), (distributed_sampler|sampler), metrics::Accuracy>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/fit/validation.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>

using namespace cairn;

using data = tensor_dataset<float, int>;

#ifdef EXPECT_SUCCESS
void check(const data& all) { validation made{all, sampler{}, batch<64>{}, metrics::Accuracy{}}; }
#else
void check(const data& all) { validation made{all, sampler{}, metrics::Accuracy{}}; }
#endif
