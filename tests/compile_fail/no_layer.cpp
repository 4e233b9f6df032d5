// SPDX-License-Identifier: MIT
// Something among the layers that is none.
// expect: error: .*Sequential: this type is no layer, block or network
// expect: checked_layer<SGD>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/train/optimizers/sgd.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Net = Sequential<Linear<784, 64>, Residual<Linear<64, 64>, ReLU>, Linear<64, 10>>;
#else
using Net = Sequential<Linear<784, 64>, Residual<Linear<64, 64>, SGD>, Linear<64, 10>>;
#endif

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
