// SPDX-License-Identifier: MIT
// A policy of one's own that leaves a backward out.
// expect: error: .*checkpoint: this policy.s route is no walk up and back
// expect: checked_policy<middle, 10,
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

struct middle {
  static constexpr void plan(const plan::chain& c, plan::route& out) {
    const std::size_t half = c.size() / 2;
    out.forward(0, c.size());
    out.backward(half, c.size());
    out.recompute(0, half);
#ifdef EXPECT_SUCCESS
    out.backward(0, half);
#else
    out.backward(1, half);
#endif
  }
};
using Net = Sequential<Linear<784, 64>, Repeat<4, Sequential<Linear<64, 64>, ReLU>>, Linear<64, 10>>;

static_assert(peak_activation_bytes<checkpoint<middle, Net>, 64> < 2_MiB);
