// SPDX-License-Identifier: MIT
// A policy of one's own that the compiler cannot run.
// expect: error: .*checkpoint: this policy.s plan is no constant expression
// expect: checked_policy<middle, 10,
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

struct middle {
#ifdef EXPECT_SUCCESS
  static constexpr void plan(const plan::chain& c, plan::route& out){
#else
  static void plan(const plan::chain& c, plan::route& out) {
#endif
      const std::size_t half = c.size() / 2;
  out.forward(0, c.size());
  out.backward(half, c.size());
  out.recompute(0, half);
  out.backward(0, half);
}
}
;
using Net = Sequential<Linear<784, 64>, Repeat<4, Sequential<Linear<64, 64>, ReLU>>, Linear<64, 10>>;

static_assert(peak_activation_bytes<checkpoint<middle, Net>, 64> < 2_MiB);
