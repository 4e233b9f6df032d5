// SPDX-License-Identifier: MIT
// The cheapest schedule known for a budget cannot be packed into its bytes, and the next one costs more than the budget allows.
// expect: error: .*budget: the cheapest schedule known for so few bytes cannot be packed into them, and the one that can costs more
// expect: dear_budget<(detail::)?per_mille_allowed<50>, (detail::)?per_mille_dearer<152>>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/plan/solve/budget.hpp>

using namespace cairn;

using Net = Sequential<Linear<64, 768>, ReLU, Linear<768, 656>, GELU, Linear<656, 752>, GELU>;
#ifdef EXPECT_SUCCESS
using Model = checkpoint<budget<171_KiB, percent<5>>, Net>;
#else
using Model = checkpoint<budget<170_KiB, percent<5>>, Net>;
#endif

static_assert(peak_activation_bytes<Model, 16> <= 1_MiB);
