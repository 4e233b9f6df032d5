// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/solve/short_search.hpp>
#include <doctest/doctest.h>

#include "../chains.hpp"
#include "../exhaustive.hpp"
#include "../families.hpp"
#include "../outcome.hpp"

using namespace cairn;
using namespace cairn::testing;

namespace {

using whole_search = detail::short_search<at_run_time>;

std::vector<route_step> route_of(const chain& c, const whole_search& s) {
  route counted{c};
  s.write(counted);
  std::vector<route_step> moves(counted.size());
  route written{c, moves.data()};
  s.write(written);
  return moves;
}

// Budgets of a chain, searched here and by the oracle of the tests.
struct comparison {
  std::size_t budgets = 0, infeasible = 0, wrong = 0, differ = 0, cheaper = 0, too_low = 0;

  // From the least bytes that any schedule needs to what store_all needs, and one byte less than the least.
  void add(const chain& c, std::size_t steps) {
    const auto entries = detail::cost_table_of<at_run_time>(c);
    exhaustive all{c};
    const std::size_t lowest = all.least_bytes();
    const std::size_t highest = plan(c, moves_of<store_all>(c)).bytes;
    if (lowest > 0) {
      whole_search s{c, entries.data(), lowest - 1};
      s.run();
      too_low += s.found();
    }
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t budget = lowest + (highest - lowest) * step / (steps - 1);
      whole_search s{c, entries.data(), budget};
      s.run();
      ++budgets;
      const auto best = all.cheapest(budget);
      if (!s.found()) {
        ++infeasible;
        continue;
      }
      const outcome real = plan(c, route_of(c, s));
      wrong += real.fault != nullptr || real.bytes > s.bytes() || s.bytes() > budget || real.cost > s.cost();
      differ += real.cost != s.cost();
      cheaper += s.cost() < best.cost;
      infeasible += s.cost() > best.cost && plan(c, best.moves).bytes <= budget;
    }
  }
};

// Sizes far apart: little things that never hurt, beside one that always does.
std::vector<stage> uneven_stages(dice& d, std::size_t count) {
  auto list = random_stages(d, count);
  for (stage& s : list)
    for (detail::bytes* b :
         {&s.output, &s.tape, &s.forward_workspace, &s.evaluation_workspace, &s.backward_workspace})
      b->per_sample <<= d.below(3) == 0 ? 8U : d.coin() ? 4U : 0U;
  for (std::size_t i = 0; i + 1 < count; ++i)
    if (d.coin()) list[i + 1].output = list[i].output;
  return list;
}

template <class Make>
comparison compare(std::size_t shortest, std::size_t longest, std::uint64_t count, std::size_t steps,
                   bool lent, Make make) {
  comparison found;
  for (std::size_t length = shortest; length <= longest; ++length)
    for (std::uint64_t seed = 0; seed < count; ++seed) {
      dice d(1000 * seed + length);
      const std::vector<stage> stages = make(d, length);
      found.add(random_ends(d, stages, lent), steps);
    }
  return found;
}

} // namespace

TEST_CASE(
    "short_search: as cheap as the cheapest of all schedules, for every budget, and none below the least") {
  for (const bool lent : {false, true}) {
    CAPTURE(lent);
    for (const comparison& found :
         {compare(1, 7, 60, 6, lent, [](dice&d, std::size_t n) { return random_stages(d, n); }),
          compare(1, 7, 30, 6, lent, uneven_stages),
          compare(8, 8, 3, 3, lent, [](dice&d, std::size_t n) { return random_stages(d, n); }),
          compare(3, 7, 30, 4, lent, [](dice&d, std::size_t n) { return mlp_stages(d, n); }),
          compare(3, 6, 6, 4, lent, [](dice&d, std::size_t n) { return equal_stages(d, n, 2); })}) {
      CHECK(found.budgets > 0);
      CHECK(found.infeasible == 0);
      CHECK(found.wrong == 0);
      CHECK(found.differ == 0);
      CHECK(found.cheaper == 0);
      CHECK(found.too_low == 0);
    }
  }
}

// In front of a stage that reads nothing, a value may be made for nobody: a schedule leaves that out.
TEST_CASE("short_search: stages that read nothing may need less than it says, never more") {
  for (const bool lent : {false, true}) {
    const auto found =
        compare(1, 7, 60, 6, lent, [](dice& d, std::size_t n) { return random_stages(d, n, true); });
    CHECK(found.infeasible == 0);
    CHECK(found.wrong == 0);
    CHECK(found.differ * 50 <= found.budgets);
  }
}

namespace {

// Is the least budget of a chain one of the plan too, and none below it?
void least_is_real(const chain& c) {
  const auto entries = detail::cost_table_of<at_run_time>(c);
  const std::size_t lowest = exhaustive{c}.least_bytes();
  whole_search below{c, entries.data(), lowest - 1}, just{c, entries.data(), lowest};
  below.run();
  just.run();
  REQUIRE_FALSE(below.found());
  REQUIRE(just.found());
  REQUIRE(plan(c, route_of(c, just)).bytes == lowest);
}

} // namespace

// Chains of which most stages are made in place beside a tape. Who forgets one such value when it makes another, or takes
// a stage that reads nothing on the way back for a reader, finds schedules that there are not.
TEST_CASE("short_search: a value that is made in place beside a tape is read, also where there are several") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    dice d(seed);
    const bool some_pass = d.coin();
    auto stages = random_stages(d, 5 + d.below(3));
    for (stage& s : stages) {
      const std::size_t kind = d.below(some_pass ? 3 : 2);
      if (kind == 0) continue;
      s.in_place_forward = true;
      s.output = {alignment * 4, 0};
      s.tape = {kind == 1 ? alignment * (1 + d.below(4)) : 0, 0};
      s.reads_output = s.tape_without_output = false;
      s.tape_flops = s.forward_flops;
      if (kind == 2) s.reads_input = false;
    }
    least_is_real(random_ends(d, stages, false));
  }
}

// To make the value alone is cheap here, to make the tape needs much room: who makes the value again beside a tape that
// is there would make the tape anew.
TEST_CASE("short_search: while a tape is there its stage does not run") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    dice d(seed);
    auto stages = random_stages(d, 4 + d.below(3));
    for (stage& s : stages) {
      s.evaluation_workspace = {};
      if (!s.keeps_tape()) continue;
      s.tape = {alignment, 0};
      s.forward_workspace = {alignment * d.below(12), 0};
    }
    least_is_real(random_ends(d, stages, false));
  }
}

TEST_CASE("short_search: a search that stops for want of room finds the same when it goes on with more") {
  std::size_t stopped = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    dice d(seed);
    const auto stages = random_stages(d, 4 + d.below(4));
    const chain c = random_ends(d, stages, d.coin());
    const auto entries = detail::cost_table_of<at_run_time>(c);
    const std::size_t budget = exhaustive{c}.least_bytes() + d.below(2) * alignment;
    whole_search whole{c, entries.data(), budget};
    whole.run();
    detail::short_search<16> little{c, entries.data(), budget};
    little.run();
    stopped += little.is_full();
    CHECK(little.is_done() != little.is_full());
    detail::short_search<4096> more{little};
    while (!more.is_done()) more.run(5);
    CHECK_FALSE(more.is_full());
    REQUIRE(more.found() == whole.found());
    CHECK(more.cost() == whole.cost());
    CHECK(more.bytes() <= budget);
  }
  CHECK(stopped > 50);
}

TEST_CASE("short_search: the costs that are given are what is least") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    dice d(seed);
    auto stages = random_stages(d, 2 + d.below(6));
    for (stage& s : stages) s.parameters = 1;
    const chain c = random_ends(d, stages, d.coin());
    std::vector<stage_cost> costs;
    for (stage& s : stages) {
      const std::uint64_t forward = 1 + d.below(1000);
      costs.push_back({forward, s.tape_without_output ? 1 + d.below(forward) : forward, 1 + d.below(1000)});
    }
    const std::size_t budget = exhaustive{c}.least_bytes() + d.below(8) * alignment;
    const auto entries = detail::cost_table_of<at_run_time>(c, costs);
    whole_search s{c, entries.data(), budget};
    s.run();
    // The same chain with these costs as its FLOPs.
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].forward_flops = costs[i].forward;
      stages[i].tape_flops = costs[i].tape;
      stages[i].backward_flops = costs[i].backward;
      stages[i].input_gradient_flops = 0;
    }
    REQUIRE(s.found());
    CHECK(s.cost() == exhaustive{c}.cheapest(budget).cost);
  }
}

TEST_CASE("short_search: chains of up to eight stages are short, and not those of none") {
  static_assert(detail::longest_searched >= 7);
  CHECK_FALSE(detail::is_searched(0));
  CHECK(detail::is_searched(1));
  CHECK(detail::is_searched(detail::longest_searched));
  CHECK_FALSE(detail::is_searched(detail::longest_searched + 1));
}
