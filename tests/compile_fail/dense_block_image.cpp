// SPDX-License-Identifier: MIT
// A dense block of what is no image any more.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
// expect: joint<2, Flatten, dims<192>, DenseBlock<2, 4
#include <cairn/layer/flatten.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/dense/dense_block.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Input<8, 8, 3>, DenseBlock<2, 4>, Flatten>;
#else
using Net = Sequential<Input<8, 8, 3>, Flatten, DenseBlock<2, 4>>;
#endif

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
