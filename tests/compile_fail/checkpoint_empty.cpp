// SPDX-License-Identifier: MIT
// A checkpoint around nothing.
// expect: error: .*checkpoint: the network inside has no layer
// expect: empty_checkpoint<checkpoint<sqrt_n, Sequential<>>>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
using Model = checkpoint<sqrt_n, Sequential<Linear<784, 10>>>;
#else
using Model = checkpoint<sqrt_n, Sequential<>>;
#endif

static_assert(peak_activation_bytes<Model, 64> < 2_MiB);
