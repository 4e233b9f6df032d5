// SPDX-License-Identifier: MIT
// The header that the sources written by tests/checks/random_networks.py include. It is the only file that knows how one of their
// networks is planned and run: a network is a type there, made of names that a user types and of the tests' own layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/rms_norm.hpp>
#include <cairn/layer/sigmoid.hpp>
#include <cairn/layer/silu.hpp>
#include <cairn/layer/softmax.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/plan/solve/solver.hpp>

#include "../layer/several_layers.hpp"
#include "layers.hpp"
#include "planned.hpp"

namespace testing {

// Bytes between the least of any schedule and store_all's, at `Percent` hundredths of the way.
template <class Source, std::size_t All, std::size_t Percent>
inline constexpr std::size_t bytes_on_the_way = [] {
  constexpr std::size_t least = cairn::detail::budget_solution<Source, All>::front.least.bytes;
  return least < All ? least + (All - least) * Percent / 100 : All;
}();

// A budget of those bytes that every network can keep: if the layout of the solved schedule needs more than store_all's arena,
// store_all is taken.
template <std::size_t Percent>
struct on_the_way : cairn::detail::solved_in_the_compiler {
  static constexpr std::size_t percent = 100;

  template <class Source, std::size_t All>
  static constexpr auto choose() {
    if constexpr (All == 0) return std::type_identity<cairn::detail::everything>{};
    else {
      constexpr auto first = cairn::detail::first_candidate<Source, bytes_on_the_way<Source, All, Percent>>();
      using candidate = typename decltype(first)::type;
      if constexpr (cairn::detail::plan_of<Source, candidate>::arena <= All) return first;
      else return std::type_identity<cairn::detail::everything>{};
    }
  }
  template <class Source, std::size_t All>
  using cheapest = typename decltype(choose<Source, All>())::type;
};

// Checks that the compiler's schedule of a whole network keeps such a budget, and costs at most 3 % more than the best one that
// the exact solver finds (10 % at the least budget).
template <class Net, std::size_t Percent>
void check_budget(const cairn::plan::solver& exact) {
  using source = typename cairn::blueprint_of<Net, 16>::source;
  using planned = cairn::detail::plan_of<source, on_the_way<Percent>>;
  static_assert(bool(planned::proof));
  constexpr std::size_t all = cairn::detail::plan_of<source, cairn::store_all>::arena;
  constexpr std::size_t bytes = bytes_on_the_way<source, all, Percent>;
  if (Percent == 0) CHECK(bytes == exact[0].bytes);
  CHECK(planned::memory.bound <= bytes);
  const std::size_t best = exact.within(bytes);
  REQUIRE(best < exact.size());
  constexpr std::uint64_t cost = cairn::plan::flops(source::value, planned::schedule.ops());
  const double ratio = static_cast<double>(cost) / static_cast<double>(exact[best].cost);
  INFO("the best costs 1, the compiler's ", ratio, " at ", Percent, " % of the way");
  CHECK(ratio >= 1);
  CHECK(ratio <= (Percent == 0 ? 1.10 : 1.03));
}
template <class Net>
void check_random_budgets() {
  const cairn::plan::solver exact(cairn::blueprint_of<Net, 16>::whole, {}, {.exact = true});
  check_budget<Net, 0>(exact);
  check_budget<Net, 15>(exact);
  check_budget<Net, 50>(exact);
}

// Checks that a training step of this model has the bits of the oracle of Net, and keeps to its arena. Net is the model itself,
// except where this check is tested: then Net is another network, or `missing` bytes are taken from the arena.
template <class Model, class Net = Model>
void check_random_network(std::size_t missing = 0) {
  constexpr std::size_t batch = 5;
  auto p = plan<Model, batch, float>();
  queue q{1};
  p.arena -= missing;
  for (const std::size_t rows : {batch - 2, batch}) compare(p, q, rows, expected<Net, float>(p, q, rows));
  // Buffers of odd sizes may leave a line of a right arena unused. An arena that is too small has none to spare.
  const std::size_t touched = touched_bytes(p, q, true);
  CHECK((missing == 0 ? touched <= p.arena : touched == p.arena));
  CHECK(touched_bytes(p, q, false) <= p.evaluation_arena);
}

} // namespace testing
