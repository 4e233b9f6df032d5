// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/solve/segment.hpp>

#include "../chains.hpp"
#include "../families.hpp"

namespace solve_segment_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

std::size_t live_bytes_of(const chain& c, const std::vector<route_step>& moves) {
  const auto made = complete<at_run_time, at_run_time>(c, std::span<const route_step>(moves));
  return detail::lay_out<at_run_time, at_run_time>(c, made.ops(), made.loss).bound;
}

} // namespace

TEST_CASE("segment: a state and its index") {
  for (std::size_t k = 0; k < segment_states; ++k) CHECK(segment_state_of(k).index() == k);
  CHECK(segment_state_of(1).owns);
  CHECK(segment_state_of(2).kept);
}

// Walks from the whole chain down: each part of a division may be a part, begins and ends where it should, and can be derived
// from the split alone.
TEST_CASE("segment: every part of every division is a segment that is asked for") {
  std::size_t seen_of_all = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice d(seed);
    const std::size_t n = 1 + d.below(24);
    const auto stages = random_stages(d, n, d.coin());
    const chain c = random_ends(d, stages, d.coin());
    const auto entries = cost_table_of<at_run_time>(c);
    const divisions<at_run_time> all{entries, n, d.coin() ? n + 1 : 5 + d.below(4), d.coin()};
    std::vector<segment> open{{0, n, {}}};
    std::set<std::size_t> seen;
    while (!open.empty()) {
      const segment s = open.back();
      open.pop_back();
      if (!seen.insert((s.how.index() * 32 + s.first) * 32 + s.last).second) continue;
      REQUIRE(s.first <= s.last);
      REQUIRE(all.is_asked_for(s));
      REQUIRE(all.grid.solves(s.first, s.last + 1));
      if (all.is_base(s)) continue;
      const bool at_once = all.is_at_once(s);
      if (at_once) {
        const segment below = all.at_once(s).lower;
        REQUIRE(below.first == s.first);
        REQUIRE(below.last + 1 == s.last);
        REQUIRE_FALSE(below.how.kept);
        open.push_back(below);
      }
      std::size_t last_split = s.first, offers = 0;
      const auto look = [&](std::size_t end, bool tapes, std::size_t more, std::size_t bytes, std::uint64_t cost) {
        REQUIRE(end > s.first);
        REQUIRE(end >= last_split);
        REQUIRE(end <= s.last);
        last_split = end;
        ++offers;
        std::uint64_t forwards = 0;
        for (std::size_t k = s.first; k < end; ++k) forwards += entries[k].cost.forward;
        REQUIRE(cost == forwards);
        const division again = all.split(s, end, tapes);
        REQUIRE(again.upper.first == end);
        REQUIRE(again.upper.last == s.last);
        REQUIRE(again.upper.how.kept == s.how.kept);
        REQUIRE(again.upper.how.owns == !(tapes && entries[end - 1].reads_output));
        REQUIRE(again.lower.first == s.first);
        REQUIRE(again.lower.last + 1 == end);
        REQUIRE(again.lower.how.owns == s.how.owns);
        REQUIRE(again.lower.how.kept == tapes);
        REQUIRE(again.more == more);
        REQUIRE(again.bytes == bytes);
        REQUIRE(again.cost == cost);
        open.push_back(again.upper);
        open.push_back(again.lower);
      };
      all.splits(s, look);
      REQUIRE((at_once || offers > 0));
    }
    seen_of_all += seen.size();
  }
  CHECK(seen_of_all > 9000);
}

TEST_CASE("segment: a long segment that begins with a chain that repeats itself has few splits") {
  std::vector<stage> stages(200, block(64, 1));
  const auto splits = [&] {
    const auto table = cost_table_of<at_run_time>({.stages = stages, .input = {256, 0}});
    std::size_t count = 0;
    divisions<at_run_time>{table, 200, 12}.splits({0, 199, {}}, [&](auto...) { ++count; });
    return count;
  };
  CHECK(splits() == 4);
  for (std::size_t i = 0; i < 200; ++i) stages[i].forward_flops += i;
  CHECK(splits() > 4);
}

// A chain of one stage consists of its two bases, and its memory is known from a plan.
TEST_CASE("segment: one stage and the loss need what a plan of them needs") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    dice d(seed);
    auto stages = random_stages(d, 1);
    stages[0].parameters = 1;
    const chain c = random_ends(d, stages, d.coin());
    const auto entries = cost_table_of<at_run_time>(c);
    const divisions<at_run_time> all{entries, 1, 2};
    std::size_t least = static_cast<std::size_t>(-1);
    const segment whole{0, 1, {}};
    all.splits(whole, [&](std::size_t end, bool tapes, std::size_t more, std::size_t first, std::uint64_t) {
      const division parts = all.split(whole, end, tapes);
      std::size_t bytes = first;
      const std::size_t up = more + all.base(parts.upper).bytes, down = all.base(parts.lower).bytes;
      for (const std::size_t part : {up, down}) bytes = part > bytes ? part : bytes;
      std::vector<route_step> moves{{0, false}, {0, true}};
      if (all.base_runs_forward(parts.lower)) moves.insert(moves.begin() + 1, {0, false});
      // Except with a borrowed output: it cannot hold a value that is not read, and remaking it is of no use.
      if (!c.lent_output) CHECK(bytes >= live_bytes_of(c, moves));
      least = bytes < least ? bytes : least;
    });
    CHECK(least <= live_bytes_of(c, {{0, false}, {0, true}}));
  }
}

TEST_CASE("segment: the input gradient takes no bytes of its own beside an input that the segment owns") {
  const std::vector<stage> stages{dense(16, 16), relu(16), dense(16, 48)};
  const chain c{.stages = stages, .input = {64, 0}};
  const auto entries = cost_table_of<at_run_time>(c);
  const divisions<at_run_time> all{entries, 3, 4};
  CHECK(all.base({2, 2, {true, false}}).bytes == 192 + 64);
  CHECK(all.base({2, 2, {false, false}}).bytes == 192 + 64); // the input's bytes count elsewhere
  CHECK(all.base({0, 0, {false, false}}).bytes == 64);       // there is no input gradient
  auto apart = stages;
  apart[2].input_gradient_on_input = false;
  const divisions<at_run_time> others{cost_table_of<at_run_time>({.stages = apart, .input = {64, 0}}), 3, 4};
  CHECK(others.base({2, 2, {true, false}}).bytes == 192 + 64 + 64);
  CHECK(others.base({2, 2, {false, false}}).bytes == 192 + 64);
}

TEST_CASE("segment: a stage whose backward lacks nothing but its gradient may be next") {
  std::vector<stage> stages{dense(16, 16), relu(16), gelu(16), dense(16, 16)};
  stages[3].reads_input = false; // its backward reads nothing, like that of a pooling
  const chain c{.stages = stages, .input = {64, 0}};
  const auto entries = cost_table_of<at_run_time>(c);
  const divisions<at_run_time> all{entries, 4, 5};
  CHECK(all.is_at_once({0, 1, {false, true}}));
  CHECK_FALSE(all.is_at_once({0, 1, {false, false}})); // its backward reads what is not kept
  CHECK_FALSE(all.is_at_once({1, 1, {false, true}}));  // a base
  CHECK_FALSE(all.is_at_once({0, 2, {false, false}})); // its backward reads its input
  CHECK(all.is_at_once({0, 3, {false, false}}));
  CHECK_FALSE(all.is_at_once({0, 4, {false, false}})); // the loss
  CHECK(all.at_once({0, 3, {}}).cost == entries[3].cost.backward);
}

} // namespace solve_segment_tests
