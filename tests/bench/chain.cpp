// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>

#include <cairn/plan/solve/budget.hpp>

#include "networks.hpp"

using namespace cairn;

namespace {

// The most bytes that a step needs beyond parameters, optimizer state and batch. PyTorch needs 202 MiB, and 67 MiB in segments.
static_assert(peak_activation_bytes<fused_update<chain::net<100>>, 1024> <= 204_MiB);
static_assert(peak_activation_bytes<fused_update<checkpoint<sqrt_n, chain::net<100>>>, 1024> <= 34_MiB);

// Where the program only has to compile, no chain is longer than this: plans of long ones take g++ minutes.
#ifdef CAIRN_BENCH_UNOPTIMISED
constexpr std::size_t most = 12;
#else
constexpr std::size_t most = 300;
#endif
constexpr std::size_t blocks(std::size_t depth) { return depth < most ? depth : most; }
using deep = chain::net<blocks(100)>;

// Two of three stages are element-wise or normalise: the case that recompute_cheap is for.
using flat = Sequential<Repeat<blocks(30), Sequential<Linear<256, 256>, LayerNorm<256>, GELU>>, Linear<256, 10>>;

template <class Model, std::size_t Depth>
bool run(const request& asked, const char* mode) {
  if (asked.depth != Depth || asked.mode != mode) return false;
  const auto prepare = [](auto& train) { chain::shrink<Depth>(train); };
  measure<Model, CrossEntropyLoss, chain::rows>(asked, mode, Depth, chain::optimizer, prepare);
  return true;
}

template <std::size_t Depth>
bool regular(const request& asked) {
  using net = chain::net<Depth>;
  using rooted = checkpoint<sqrt_n, net>;
  return run<net, Depth>(asked, "naive") || run<rooted, Depth>(asked, "sqrt") || run<fused_update<net>, Depth>(asked, "fused") ||
         run<fused_update<rooted>, Depth>(asked, "fused_sqrt");
}

// Schedules that the compiler solves for a budget, and recompute_cheap on two networks.
bool solved(const request& asked) {
  return run<fused_update<checkpoint<budget<51_MiB>, deep>>, blocks(100)>(asked, "budget_51") ||
         run<fused_update<checkpoint<budget<16_MiB>, deep>>, blocks(100)>(asked, "budget_16") ||
         run<checkpoint<recompute_cheap, deep>, blocks(100)>(asked, "cheap") || run<flat, blocks(30)>(asked, "flat") ||
         run<checkpoint<recompute_cheap, flat>, blocks(30)>(asked, "flat_cheap");
}

} // namespace

bool bench_chain(const request& asked) {
  return regular<10>(asked) || regular<blocks(30)>(asked) || regular<blocks(100)>(asked) || regular<blocks(300)>(asked) ||
         solved(asked);
}
