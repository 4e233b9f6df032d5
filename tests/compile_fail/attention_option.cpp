// SPDX-License-Identifier: MIT
// A number of key heads that does not divide the number of heads.
// expect: error: .*attention: its options are at most one mask
#include <cairn/layer/attention.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Core = attention::core<4, attention::key_heads<2>, attention::window<8>>;
#else
using Core = attention::core<4, attention::key_heads<3>, attention::window<8>>;
#endif
using Net = Sequential<Input<16, 12>, Linear<12, 40>, Core>;

static_assert(peak_activation_bytes<Net, 8> < 2_MiB);
