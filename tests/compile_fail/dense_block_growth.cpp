// SPDX-License-Identifier: MIT
// A dense block whose layers append nothing.
// expect: error: .*DenseBlock: it has at least one layer and a growth of 1 to 1024 channels
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/dense/dense_block.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, DenseBlock<2, 4>>;
#else
using Net = Sequential<Input<8, 8, 3>, DenseBlock<2, 0>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
