// SPDX-License-Identifier: MIT
// A layer of one's own whose shape is only known when it runs.
// expect: error: .*layer: outputs .or accepts. is no constant expression for what arrives
// expect: shape_at_run_time<1, Twice>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

struct Twice {
  static constexpr reads backward_reads = reads::nothing;
#ifdef EXPECT_SUCCESS
  static constexpr tensor outputs(const arguments& in) { return in[0]; }
#else
  static tensor outputs(const arguments& in) { return in[0]; }
#endif
};

static_assert(peak_activation_bytes<Sequential<Linear<784, 64>, Twice, Linear<64, 10>>, 64> < 2_MiB);
