// SPDX-License-Identifier: MIT
// The memory of a step without a sample.
// expect: error: .*batch: a batch needs room for at least one sample; write batch<1> or more
// expect: batch<0>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
constexpr std::size_t rows = 1;
#else
constexpr std::size_t rows = 0;
#endif

static_assert(peak_activation_bytes<Sequential<Linear<784, 10>>, rows> < 2_MiB);
