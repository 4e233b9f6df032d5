// SPDX-License-Identifier: MIT
// A Gated whose branches make tensors of other shapes.
// expect: error: .*Gated: each of its two branches has a layer and makes one tensor of the input, of the same shape
// expect: wrong_gated<Gated<Sequential<Linear<64, 48>, Sigmoid ?>, Linear<64, 32> ?>, dims<64>, dims<48>, dims<32>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/gated.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Unit = Gated<Sequential<Linear<64, 32>, Sigmoid>, Linear<64, 32>>;
#else
using Unit = Gated<Sequential<Linear<64, 48>, Sigmoid>, Linear<64, 32>>;
#endif
using Net = Sequential<Linear<784, 64>, Unit, Linear<32, 10>>;

static_assert(peak_activation_bytes<Net, 64> < 2_MiB);
