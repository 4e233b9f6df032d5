// SPDX-License-Identifier: MIT
// A loader that is not told how many samples a batch has.
// expect: error: .*loader: its third argument is the most samples in a batch
// expect: loader_without_batch<void>
#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/tensor_dataset.hpp>

using namespace cairn;

using data = tensor_dataset<float, int>;

#ifdef EXPECT_SUCCESS
std::size_t batches(const data& all) { return loader{all, sampler{}, batch<64>{}}.size(); }
#else
std::size_t batches(const data& all) { return loader{all, sampler{}}.size(); }
#endif
