// SPDX-License-Identifier: MIT
// Short chains that the compiler searches, compared with the same search when the program runs, and with the oracle.
#include <array>
#include <cstddef>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/plan/solve/searched.hpp>
#include <cairn/plan/solve/slots.hpp>
#include <doctest/doctest.h>

#include "../chains.hpp"
#include "../exhaustive.hpp"
#include "../rescued.hpp"

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

template <class Source>
constexpr std::size_t persistent_least = detail::slot_solution<Source, 64>::least_bytes;

// The compiler's search is that of the program, and its schedule that of the oracle.
template <class Source, std::size_t Budget>
void is_searched_alike() {
  using found = detail::searched<Source, Budget>;
  const auto entries = detail::cost_table_of<at_run_time>(Source::value);
  detail::short_search<at_run_time> s{Source::value, entries.data(), Budget};
  s.run();
  CHECK(found::search.is_done());
  CHECK(found::search.size() == s.size());
  REQUIRE(found::search.found() == s.found());
  const auto best = exhaustive{Source::value}.cheapest(Budget);
  REQUIRE(found::search.found() == best.found);
  if constexpr (found::search.found()) {
    using planned = plan_of<Source, found>;
    static_assert(bool(planned::proof));
    CHECK(planned::memory.bound <= found::search.bytes());
    CHECK(planned::memory.bound <= Budget);
    CHECK(flops(Source::value, planned::schedule.ops()) == best.cost);
  }
}

// More states than one constant expression looks at.
struct long_search {
  static constexpr auto stages = [] {
    std::array<stage, 7> list{};
    for (stage& s : list) s = block(16, 3);
    return list;
  }();
  static constexpr chain value{.stages = stages, .input = {64, 0}};
};

} // namespace

TEST_CASE("searched: the compiler finds what the program finds") {
  is_searched_alike<rescued_chain, persistent_least<rescued_chain> - 1>();
  is_searched_alike<rescued_chain, persistent_least<rescued_chain> / 2>();
  is_searched_alike<rescued_products, persistent_least<rescued_products> - 1>();
  is_searched_alike<rescued_products, persistent_least<rescued_products>>();
}

TEST_CASE("searched: a search of many states goes on from one constant expression to the next") {
  constexpr std::size_t all = plan_of<long_search, store_all>::memory.arena;
  constexpr std::size_t budget = all * 7 / 10;
  using first = detail::first_round<long_search, budget>;
  static_assert(first::search.size() > 1);
  static_assert(!first::search.is_done());
  is_searched_alike<long_search, budget>();
  static_assert(detail::searched<long_search, budget>::search.size() > 2 * detail::states_at_once);
}

TEST_CASE("searched: the budget for live bytes is found whose arena is small enough, and the least arena") {
  constexpr std::size_t persistent = persistent_least<rescued_chain>;
  const std::size_t least = exhaustive{rescued_chain::value}.least_bytes();
  constexpr std::size_t found = detail::least_arena<rescued_chain, typename budget<persistent>::tightest<rescued_chain, persistent>>();
  CHECK(found == least);
  CHECK(found < persistent);
  static_assert(!std::is_void_v<detail::fitting<rescued_chain, budget<found>>>);
  static_assert(std::is_void_v<detail::fitting<rescued_chain, budget<found - 1>>>);
}
