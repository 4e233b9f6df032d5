// SPDX-License-Identifier: MIT
// The cheapest schedule known for a budget cannot be packed into its bytes, and the next one costs more than the budget allows.
// expect: error: .*budget: the cheapest schedule known for so few bytes cannot be packed into them, and the one that can costs more
// expect: dear_budget<(detail::)?per_mille_allowed<30>, (detail::)?per_mille_dearer<36>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/plan/solve/budget.hpp>

using namespace cairn;

using Net = Sequential<Linear<64, 832>, ReLU, Linear<832, 688>, ReLU, Linear<688, 464>, ReLU, Linear<464, 1184>, ReLU,
                       Linear<1184, 400>, ReLU, Linear<400, 768>, ReLU>;
#ifdef EXPECT_SUCCESS
using Model = checkpoint<budget<250_KiB, percent<3>>, Net>;
#else
using Model = checkpoint<budget<240_KiB, percent<3>>, Net>;
#endif

static_assert(peak_activation_bytes<Model, 16> <= 1_MiB);
