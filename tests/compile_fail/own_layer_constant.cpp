// SPDX-License-Identifier: MIT
// A layer of one's own whose shape is only known when it runs.
// expect: error: .*layer: output_shape .or accepts. is no constant expression for the shape that arrives
// expect: shape_at_run_time<1, Twice>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

struct Twice {
  static constexpr reads backward_reads = reads::nothing;
#ifdef EXPECT_SUCCESS
  static constexpr shape output_shape(const shape& in) { return in; }
#else
  static shape output_shape(const shape& in) { return in; }
#endif
};

static_assert(peak_activation_bytes<Sequential<Linear<784, 64>, Twice, Linear<64, 10>>, 64> < 2_MiB);
