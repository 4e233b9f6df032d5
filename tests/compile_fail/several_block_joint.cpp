// SPDX-License-Identifier: MIT
// A joint that does not fit, in a block at which two tensors arrive: the second is one of integers.
// expect: error: .*Sequential: the layer at this position does not accept what the layer before it produces
// expect: joint<1, ReLU, tensors_of<dims<16>, integers<8>>, Linear<8, 16>>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Block = Residual<ReLU, Linear<16, 16>>;
#else
using Block = Residual<ReLU, Linear<8, 16>>;
#endif
using Net = Sequential<Inputs<dims<16>, integers<8>>, Repeat<2, Block>, Linear<16, 4>>;

static_assert(peak_activation_bytes<Net, 32> < 1_MiB);
