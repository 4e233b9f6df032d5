// SPDX-License-Identifier: MIT
// A budget that no schedule of a short network keeps: what is stated is the least of all schedules, which only one needs
// that drops a value for a while.
// expect: error: .*budget: no schedule of this network needs so few bytes
// expect: budget_of<(detail::)?bytes_given<23679>, (detail::)?least_possible_bytes<23680>>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/plan/solve/budget.hpp>

using namespace cairn;

using Net = Sequential<Linear<96, 128>, Linear<128, 96>, Linear<96, 48>, Linear<48, 96>, Linear<96, 160>,
                       LayerNorm<160>>;
#ifdef EXPECT_SUCCESS
using Model = checkpoint<budget<23680>, Net>;
#else
using Model = checkpoint<budget<23679>, Net>;
#endif

static_assert(peak_activation_bytes<Model, 16> <= 64_KiB);
