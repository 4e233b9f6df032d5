// SPDX-License-Identifier: MIT
// A budget that no schedule of the network keeps: the error states the least that one needs.
// expect: error: .*budget: none of the schedules that the compiler searches needs so few bytes
// expect: budget_of<(detail::)?bytes_given<4096>, (detail::)?least_possible_bytes<32768>>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/plan/solve/budget.hpp>

using namespace cairn;

using Net = Sequential<Linear<64, 64>, ReLU, Repeat<2, Residual<Linear<64, 64>, ReLU>>, Linear<64, 10>>;
#ifdef EXPECT_SUCCESS
using Model = checkpoint<budget<32_KiB>, Net>;
#else
using Model = checkpoint<budget<4_KiB>, Net>;
#endif

static_assert(peak_activation_bytes<Model, 32> <= 64_KiB);
