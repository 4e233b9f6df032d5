// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/search_states.hpp>
#include <doctest/doctest.h>

#include "../chains.hpp"

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

constexpr search_node costing(std::uint32_t key, std::uint64_t cost) { return {.key = key, .cost = cost}; }

// The costs in the order in which they leave the queue.
template <std::size_t Capacity>
std::vector<std::uint64_t> drain(search_states<Capacity>& states) {
  std::vector<std::uint64_t> costs;
  while (states.waiting() > 0) costs.push_back(states[states.take()].cost);
  return costs;
}

} // namespace

TEST_CASE("search_states: a state and its key") {
  for (const std::uint32_t left : {0U, 5U, 9U})
    for (const std::uint32_t set : {0U, 1U, 128U, 255U}) {
      const search_state s{set, 255U - set, set & 3U, left};
      const search_state again = search_state::of(s.key());
      CHECK(again.values == s.values);
      CHECK(again.tapes == s.tapes);
      CHECK(again.unread == s.unread);
      CHECK(again.left == s.left);
    }
}

TEST_CASE("search_states: each is found again, and the cheapest leaves the queue first") {
  dice d(1);
  search_states<at_run_time> states; // grows
  std::vector<std::uint64_t> costs;
  CHECK(states.find(7) == search_node::none);
  for (std::uint32_t k = 0; k < 1000; ++k) {
    const std::uint32_t key = 977 * k;
    REQUIRE(states.find(key) == search_node::none);
    costs.push_back(d.below(300));
    REQUIRE(states.add(costing(key, costs.back())));
    REQUIRE(states[states.find(key)].cost == costs.back());
  }
  CHECK(states.size() == 1000);
  for (std::uint32_t k = 0; k < 1000; ++k) REQUIRE(states[states.find(977 * k)].cost == costs[k]);
  std::sort(costs.begin(), costs.end());
  CHECK(drain(states) == costs);
  CHECK(states.size() == 1000); // they stay known
}

TEST_CASE("search_states: a state to which there is a cheaper way moves up, and is in the queue once") {
  dice d(2);
  search_states<at_run_time> states;
  std::vector<std::uint64_t> costs;
  for (std::uint32_t k = 0; k < 200; ++k) {
    costs.push_back(1000 + d.below(1000));
    states.add(costing(k, costs.back()));
  }
  for (int times = 0; times < 500; ++times) {
    const auto k = static_cast<std::uint32_t>(d.below(200));
    costs[k] -= d.below(2) * d.below(100);
    states.improve(states.find(k), costing(k, costs[k]));
  }
  std::sort(costs.begin(), costs.end());
  CHECK(drain(states) == costs);
}

TEST_CASE("search_states: without room a state is refused, and a copy with more room goes on") {
  search_states<4> few;
  for (std::uint32_t k = 0; k < 4; ++k) CHECK(few.add(costing(k, 10 - k)));
  CHECK_FALSE(few.add(costing(4, 1)));
  CHECK(few.size() == 4);
  const std::uint32_t top = few.take();
  CHECK(few[top].cost == 7);
  few.put_back(top);
  search_states<8> more{few};
  CHECK(more.find(2) == few.find(2));
  CHECK(more.add(costing(4, 1)));
  CHECK(drain(more) == std::vector<std::uint64_t>{1, 7, 8, 9, 10});
}

TEST_CASE("search_states: a compiler does the same") {
  constexpr std::uint64_t least = [] {
    search_states<16> states;
    for (std::uint32_t k = 0; k < 16; ++k) states.add(costing(k * k, 100 - k % 7));
    states.improve(states.find(25), costing(25, 3));
    return states[states.take()].cost;
  }();
  static_assert(least == 3);
}
