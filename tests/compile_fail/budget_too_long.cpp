// SPDX-License-Identifier: MIT
// More stages than the compiler solves for a budget: it says so at once, and what to do.
// expect: error: .*budget: this network has too many stages for the compiler to solve.*memory_curve
// expect: too_long_for_the_compiler<2001>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/plan/solve/budget.hpp>

using namespace cairn;

#ifdef EXPECT_SUCCESS
constexpr std::size_t blocks = 6;
#else
constexpr std::size_t blocks = 2000;
#endif
using Net = Sequential<Repeat<blocks, Residual<Linear<64, 64>, ReLU>>, Linear<64, 10>>;

static_assert(peak_activation_bytes<checkpoint<budget_fraction<60>, Net>, 32> <= 64_MiB);
