// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/solve/solver.hpp>

#include "../../long_tests.hpp"
#include "../chains.hpp"
#include "../exhaustive.hpp"
#include "../families.hpp"
#include "../outcome.hpp"

namespace solve_solver_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

struct counts {
  std::size_t points = 0, wrong = 0, above = 0, below = 0, cheaper = 0, dearer = 0, unordered = 0;
};

// Compares every point of a solver's curve with the plan of its route.
void compare_with_plans(const chain& c, counts& found) {
  const solver solved{c};
  for (std::size_t k = 0; k < solved.size(); ++k) {
    const outcome real = outcome_of(c, solved.route_of(k));
    ++found.points;
    found.wrong += real.fault != nullptr;
    found.above += real.bytes > solved[k].bytes;
    found.below += real.bytes < solved[k].bytes;
    found.cheaper += real.cost < solved[k].cost;
    found.dearer += real.cost > solved[k].cost;
    found.unordered += k > 0 && (solved[k].bytes <= solved[k - 1].bytes || solved[k].cost >= solved[k - 1].cost);
  }
  found.unordered += solved.size() == 0;
}

counts compare_random_chains(std::uint64_t seeds, bool odd, bool lent) {
  counts found;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    dice d(seed);
    const auto stages = random_stages(d, 1 + d.below(9), odd);
    compare_with_plans(random_ends(d, stages, lent), found);
  }
  return found;
}

// The solver compared with all schedules, on one family of chains.
struct comparison {
  std::size_t chains = 0, budgets = 0, optimal = 0, infeasible = 0, least = 0;
  double sum = 0, worst = 1;
  // Faults of the exhaustive search itself: schedules that the plan does not confirm, and budgets for which the solver is better.
  std::size_t unconfirmed = 0, beaten = 0;

  double share() const { return static_cast<double>(optimal) / static_cast<double>(budgets); }
  double mean() const { return sum / static_cast<double>(budgets - infeasible); }

  void add(const chain& c) {
    constexpr std::size_t steps = 12; // budgets from the least to that of store_all
    exhaustive all{c};
    const solver solved{c};
    const std::size_t lowest = all.least_bytes();
    const std::size_t highest = outcome_of(c, moves_of<store_all>(c)).bytes;
    ++chains;
    least += solved[0].bytes == lowest;
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t budget = lowest + (highest - lowest) * step / (steps - 1);
      const auto best = all.cheapest(budget);
      const outcome real = outcome_of(c, best.moves);
      unconfirmed += !best.found || real.fault != nullptr || real.bytes > budget || real.cost != best.cost;
      ++budgets;
      const std::size_t k = solved.within(budget);
      if (k == solved.size()) {
        ++infeasible;
        continue;
      }
      const double ratio = static_cast<double>(solved[k].cost) / static_cast<double>(best.cost);
      optimal += solved[k].cost == best.cost;
      beaten += solved[k].cost < best.cost;
      sum += ratio;
      worst = std::max(worst, ratio);
    }
  }

  // Returns a row of the table in tests/bench/RESULTS.md.
  std::string row(const char* family) const {
    char text[200];
    std::snprintf(text, sizeof text, "| %s | %zu | %zu | %.1f %% | %.4f | %.3f | %zu | %zu |", family, chains, budgets,
                  100 * share(), mean(), worst, infeasible, chains - least);
    return text;
  }
};

// Compares `count` chains of each length from 3 to 7. make(dice, length) returns the stages.
template <class Make>
comparison compare(std::uint64_t count, Make make, bool lent = false) {
  comparison all;
  for (std::size_t length = 3; length <= 7; ++length)
    for (std::uint64_t seed = 0; seed < count; ++seed) {
      dice d(100 * seed + length);
      const std::vector<stage> stages = make(d, length);
      all.add(random_ends(d, stages, lent));
    }
  return all;
}

// The largest fraction by which `one` costs more than `other` within the same bytes; -1 if `other` has no schedule for some.
double excess(const solver& one, const solver& other) {
  double most = 0;
  for (std::size_t k = 0; k < one.size(); ++k) {
    const std::size_t j = other.within(one[k].bytes);
    if (j == other.size()) return -1; // the other has no schedule within these bytes
    most = std::max(most, static_cast<double>(one[k].cost) / static_cast<double>(other[j].cost) - 1);
  }
  return most;
}

bool equal_curves(const solver& one, const solver& other) {
  bool equal = one.size() == other.size();
  for (std::size_t k = 0; equal && k < one.size(); ++k) equal = one[k].bytes == other[k].bytes && one[k].cost == other[k].cost;
  return equal;
}

std::vector<stage> repeated(const std::vector<stage>& block, std::size_t times) {
  std::vector<stage> list;
  for (std::size_t k = 0; k < times; ++k) list.insert(list.end(), block.begin(), block.end());
  return list;
}

} // namespace

TEST_CASE("solver: every point is a proven schedule of just its bytes and its cost") {
  for (const bool lent : {false, true}) {
    CAPTURE(lent);
    const counts found = compare_random_chains(3000, false, lent);
    CHECK(found.points > 10000);
    CHECK(found.wrong == 0);
    CHECK(found.above == 0);
    CHECK(found.cheaper == 0);
    CHECK(found.dearer == 0);
    CHECK(found.unordered == 0);
    // The solver also counts a value that it keeps below the lowest backward, though it is not read any more, and a value
    // that is made in a borrowed output.
    CHECK(found.below * 1000 <= found.points);
    MESSAGE(found.below << " of " << found.points << " schedules need fewer bytes than the solver says");
  }
}

// The value before such a stage may be recomputed in vain. A schedule leaves that out, the solver counts it.
TEST_CASE("solver: stages that read nothing may need less than it says, never more") {
  for (const bool lent : {false, true}) {
    CAPTURE(lent);
    const counts found = compare_random_chains(2000, true, lent);
    CHECK(found.wrong == 0);
    CHECK(found.above == 0);
    CHECK(found.dearer == 0);
    CHECK(found.unordered == 0);
    CHECK(found.below * 10 <= found.points);
    CHECK(found.cheaper * 1000 <= found.points);
  }
}

TEST_CASE("solver: the cheapest point is store_all's, and a budget finds the last point within it") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice d(seed);
    const auto stages = random_stages(d, 1 + d.below(9));
    const chain c = random_ends(d, stages, d.coin());
    const outcome all = outcome_of(c, moves_of<store_all>(c));
    const solver solved{c};
    const std::size_t last = solved.size() - 1;
    CHECK(solved[last].cost == all.cost);
    CHECK(solved[last].bytes <= all.bytes);
    for (std::size_t k = 0; k <= last; ++k) {
      CHECK(solved.within(solved[k].bytes) == k);
      if (solved[k].bytes > 0) CHECK(solved.within(solved[k].bytes - 1) == (k > 0 ? k - 1 : solved.size()));
    }
    CHECK(solved.within(static_cast<std::size_t>(-1)) == last);
  }
}

// Compares every budget of every short chain with the cheapest of all schedules, which may drop what it keeps and recompute
// it. The table is kept in tests/bench/RESULTS.md.
TEST_CASE("solver: against the cheapest of all schedules") {
  const auto random = compare(100, [](dice& d, std::size_t length) { return random_stages(d, length); });
  const auto lent = compare(20, [](dice& d, std::size_t length) { return random_stages(d, length); }, true);
  const auto odd = compare(50, [](dice& d, std::size_t length) { return random_stages(d, length, true); });
  const auto one = compare(8, [](dice& d, std::size_t length) { return equal_stages(d, length, 1); });
  const auto three = compare(8, [](dice& d, std::size_t length) { return equal_stages(d, length, 3); });
  const auto mlp = compare(100, [](dice& d, std::size_t length) { return mlp_stages(d, length); });
  const auto blocks = compare(24, [](dice& d, std::size_t length) { return block_stages(d, length); });
  struct expected {
    const char* family;
    const comparison& found;
    double share, mean, worst; // the bounds
    std::size_t missed = 0;    // chains for which another schedule needs fewer bytes
  };
  const expected rows[]{{"random", random, 0.97, 1.002, 1.25, 3},
                        {"random, of a composite", lent, 0.97, 1.003, 1.25, 1},
                        {"random, some read nothing", odd, 0.90, 1.006, 1.25, 5},
                        {"equal, tape = value", one, 1, 1, 1},
                        {"equal, tape = 3 values", three, 1, 1, 1},
                        {"Linear, ReLU, ...", mlp, 0.98, 1.001, 1.13},
                        {"residual blocks", blocks, 1, 1, 1}};
  std::string table = "\n| family | chains | budgets | optimal | mean ratio | worst ratio | infeasible | "
                      "least bytes missed |\n"
                      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const expected& row : rows) {
    CAPTURE(std::string(row.family));
    table += row.found.row(row.family) + "\n";
    CHECK(row.found.unconfirmed == 0);
    CHECK(row.found.beaten == 0);
    CHECK(row.found.share() >= row.share);
    CHECK(row.found.mean() <= row.mean);
    CHECK(row.found.worst <= row.worst);
    CHECK(row.found.infeasible <= row.missed);
    CHECK(row.found.least + row.missed >= row.found.chains);
  }
  MESSAGE(table);
}

TEST_CASE("solver: against the cheapest of all schedules of 9 and 10 stages") {
  const std::uint64_t count = ::testing::long_tests ? 16 : 6;
  const auto of = [&](auto make) {
    comparison all;
    for (std::size_t length = 9; length <= 10; ++length)
      for (std::uint64_t seed = 0; seed < count; ++seed) {
        dice d(100 * seed + length);
        all.add(random_ends(d, make(d, length), false));
      }
    return all;
  };
  const auto mlp = of(mlp_stages), blocks = of(block_stages);
  MESSAGE(mlp.row("Linear, ReLU, ..., 9 and 10 stages"));
  MESSAGE(blocks.row("residual blocks, 9 and 10 stages"));
  for (const comparison* found : {&mlp, &blocks}) {
    CHECK(found->chains == 2 * count);
    CHECK(found->unconfirmed == 0);
    CHECK(found->beaten == 0);
    CHECK(found->infeasible == 0);
    CHECK(found->least == found->chains);
  }
  // Dropping a value and making it again, which the solver does not, gains more on longer MLPs.
  CHECK(mlp.share() >= 0.75);
  CHECK(mlp.mean() <= 1.015);
  CHECK(mlp.worst <= 1.16);
  CHECK(blocks.share() == 1);
}

TEST_CASE("solver: equal stages are solved once, and nothing is lost by it") {
  // Gives each stage a tape cost of its own, which is never used, so that no two stages are equal.
  const auto apart = [](const std::vector<stage>& stages) {
    std::vector<stage_cost> costs;
    for (const stage& s : stages) costs.push_back({s.forward_flops, costs.size(), s.backward_flops});
    return costs;
  };
  dice d(5);
  stage heavy = block(16, 2); // it reads its output, so the cost of its tape alone is not used
  heavy.reads_output = true;
  for (const auto& block : {std::vector<stage>{heavy}, mlp_stages(d, 1), std::vector<stage>{dense(16, 16), relu(16)},
                            std::vector<stage>{dense(32, 16), gelu(16), dense(16, 32), relu(32)}}) {
    auto stages = repeated(block, 24 / block.size());
    for (const bool ends : {false, true}) {
      if (ends) {
        stages.insert(stages.begin(), {dense(8, 24), relu(24)});
        stages.push_back(dense(16, 4));
        stages[11].output = {640, 0}; // differs from its copies
      }
      const chain c{.stages = stages, .input = {512, 0}};
      std::vector<stage_cost> equal;
      for (const stage& s : stages) equal.push_back({s.forward_flops, 0, s.backward_flops});
      const auto different = apart(stages);
      const auto table = detail::cost_table_of<at_run_time>(c, different);
      CHECK(detail::find_repetition(table.data(), stages.size()).period == 0);
      const solver grouped{c, equal}, plain{c, different};
      CHECK(equal_curves(grouped, plain));
      for (std::size_t k = 0; k < grouped.size(); ++k) CHECK(grouped.route_of(k) == plain.route_of(k));
    }
  }
}

TEST_CASE("solver: curves that are not exact are never better than those that are, and hardly worse") {
  dice d(11);
  double most = 0;
  const auto compare = [&](const std::vector<stage>& stages) {
    const chain c{.stages = stages, .input = {64, 0}};
    const solver exact{c, {}, {.exact = true}}, quick{c};
    const double more = excess(quick, exact);
    CHECK(more >= 0);
    CHECK(excess(exact, quick) <= 0); // none of its points is better
    CHECK(quick[0].bytes == exact[0].bytes);
    CHECK(quick[quick.size() - 1].cost == exact[exact.size() - 1].cost);
    most = std::max(most, more);
  };
  for (const auto& block : {equal_stages(d, 1, 1), equal_stages(d, 1, 3), std::vector<stage>{cairn::testing::block(16, 2)},
                            std::vector<stage>{dense(16, 16), relu(16)}, block_stages(d, 6)})
    compare(repeated(block, 72 / block.size()));
  compare(mlp_stages(d, 60));
  compare(block_stages(d, 50));
  compare(random_stages(d, 50));
  CHECK(most <= 0.01);
  MESSAGE("they cost at most " << 100 * most << " % more");
}

// The whole curve of a long chain would take too long here.
TEST_CASE("solver: a long chain is planned right on a grid, and equal blocks cost what a closed form says") {
  dice d(3);
  for (const auto& stages : {mlp_stages(d, 170), random_stages(d, 160)}) {
    const chain c{.stages = stages, .input = {64, 0}};
    std::size_t points = 0;
    double last = 0;
    const solver solved{c, {}, {}, [&](double done) {
                          CHECK(done >= last);
                          last = done;
                        }};
    CHECK(last == doctest::Approx(1));
    for (std::size_t k = 0; k < solved.size(); k += solved.size() / 8, ++points) {
      const outcome real = outcome_of(c, solved.route_of(k));
      CHECK(real.fault == nullptr);
      CHECK(real.bytes <= solved[k].bytes);
      CHECK(real.cost == solved[k].cost);
    }
    CHECK(points >= 8);
    CHECK(solved[solved.size() - 1].cost == outcome_of(c, moves_of<store_all>(c)).cost);
  }
}

namespace {

// Rotor's recurrence alone (see segment.hpp), in lines of memory: either the value of some stage is stored next, or all that
// the backward of the first stage reads. It knows neither workspaces nor ops in place.
class rotor {
public:
  rotor(const chain& c, std::size_t lines) : chain_(c), stages_(c.size()), lines_(lines) {
    known_.resize((stages_ + 1) * (stages_ + 1) * (lines + 1));
  }

  // Returns the route of the cheapest schedule within `lines` lines, or an empty one.
  std::vector<route_step> route_within(std::size_t lines) {
    std::vector<route_step> moves;
    if (cost(0, stages_ - 1, lines).cost < endless) write(0, stages_ - 1, lines, moves);
    return moves;
  }

private:
  static constexpr std::uint64_t endless = static_cast<std::uint64_t>(-1) / 4;
  struct choice {
    std::uint64_t cost = endless;
    std::size_t split = 0; // 0: the first stage is stored whole
    bool solved = false;
  };

  std::size_t value(std::size_t k) const { return chain_.value_bytes(k) / alignment; }
  std::size_t kept(std::size_t i) const { return value(i + 1) + chain_.tape_bytes(i) / alignment; }

  choice& cost(std::size_t first, std::size_t last, std::size_t lines) {
    choice& c = known_[(first * (stages_ + 1) + last) * (lines_ + 1) + lines];
    if (c.solved) return c;
    c.solved = true;
    const stage& s = chain_[first];
    if (first == last) {
      if (lines >= kept(first)) c.cost = s.forward_flops + s.backward_flops;
      return c;
    }
    if (lines >= kept(first)) {
      const std::uint64_t all = s.forward_flops + cost(first + 1, last, lines - kept(first)).cost + s.backward_flops;
      if (all < c.cost) c.cost = all;
    }
    std::uint64_t forwards = 0;
    for (std::size_t i = first + 1; i <= last; ++i) {
      forwards += chain_[i - 1].forward_flops;
      if (lines < value(i)) continue;
      const std::uint64_t now = forwards + cost(i, last, lines - value(i)).cost + cost(first, i - 1, lines).cost;
      if (now < c.cost) {
        c.cost = now;
        c.split = i;
      }
    }
    return c;
  }

  void write(std::size_t first, std::size_t last, std::size_t lines, std::vector<route_step>& out) {
    const auto forward = [&](std::size_t i) { out.push_back({static_cast<std::uint32_t>(i), false}); };
    const auto backward = [&](std::size_t i) { out.push_back({static_cast<std::uint32_t>(i), true}); };
    const choice c = cost(first, last, lines);
    if (c.split != 0) {
      for (std::size_t i = first; i < c.split; ++i) forward(i);
      write(c.split, last, lines - value(c.split), out);
      return write(first, c.split - 1, lines, out);
    }
    forward(first);
    if (first != last) write(first + 1, last, lines - kept(first), out);
    backward(first);
  }

  chain chain_;
  std::size_t stages_, lines_;
  std::vector<choice> known_;
};

} // namespace

TEST_CASE("solver: never worse than Rotor's recurrence on longer chains") {
  std::size_t compared = 0, better = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    dice d(seed);
    const std::size_t count = 10 + d.below(21);
    const auto stages = seed % 2 == 0 ? random_stages(d, count) : block_stages(d, count);
    const chain c{.stages = stages, .input = {alignment, 0}};
    const solver solved{c};
    const std::size_t lines = outcome_of(c, moves_of<store_all>(c)).bytes / alignment;
    rotor other{c, lines};
    for (std::size_t k = 1; k <= 10; ++k) {
      const auto moves = other.route_within(lines * k / 10);
      if (moves.empty()) continue;
      const outcome real = outcome_of(c, moves);
      REQUIRE(real.fault == nullptr);
      const std::size_t point = solved.within(real.bytes);
      REQUIRE(point < solved.size());
      CHECK(solved[point].cost <= real.cost);
      ++compared;
      better += solved[point].cost < real.cost;
    }
  }
  CHECK(compared > 50);
  CHECK(better > 10);
}

// Networks whose updates consume the gradients during the backward pass: the bytes of the windows count.
TEST_CASE("solver: with windows of gradients, against the cheapest of all schedules") {
  const auto random_windows = [](dice& d, const std::vector<stage>& stages) {
    std::vector<gradient_window> list;
    for (std::size_t i = stages.size(); i-- > 0;) {
      if (stages[i].parameters == 0) continue;
      std::size_t to = i;
      for (std::size_t more = d.below(2); to > 0 && more > 0;)
        if (stages[--to].parameters != 0) --more;
      while (stages[to].parameters == 0) ++to;
      list.push_back({4 * stages[i].parameters, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(to)});
    }
    return list;
  };
  comparison found;
  for (std::size_t length = 3; length <= 7; ++length)
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
      dice d(1000 * seed + length);
      const auto stages = d.coin() ? mlp_stages(d, length) : block_stages(d, length);
      const auto windows = random_windows(d, stages);
      chain c{.stages = stages, .input = {alignment, 0}};
      c.windows = windows;
      found.add(c);
    }
  MESSAGE(found.row("fused networks"));
  CHECK(found.chains >= 72);
  CHECK(found.unconfirmed == 0);
  CHECK(found.beaten == 0);
  CHECK(found.infeasible == 0);
  CHECK(found.least == found.chains);
  CHECK(found.share() >= 0.95);
}

TEST_CASE("solver: the costs that are given are what is least") {
  std::size_t differ = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice d(seed);
    auto stages = random_stages(d, 2 + d.below(7));
    std::vector<stage_cost> costs;
    for (stage& s : stages) {
      s.parameters = 1;
      const std::uint64_t forward = 1 + d.below(1000);
      const std::uint64_t tape = s.tape_without_output ? 1 + d.below(forward) : forward;
      costs.push_back({forward, tape, 1 + d.below(1000)});
    }
    const chain c = random_ends(d, stages, d.coin());
    const solver measured{c, costs};
    const solver counted{c};
    differ +=
        measured.size() != counted.size() || measured.route_of(measured.size() / 2) != counted.route_of(measured.size() / 2);
    // The same chain with these costs as its FLOPs.
    auto named = stages;
    for (std::size_t i = 0; i < named.size(); ++i) {
      named[i].forward_flops = costs[i].forward;
      named[i].tape_flops = costs[i].tape;
      named[i].backward_flops = costs[i].backward;
      named[i].input_gradient_flops = 0;
    }
    chain other = c;
    other.stages = named;
    CHECK(equal_curves(measured, solver{other}));
  }
  CHECK(differ > 100);
}

TEST_CASE("solver: `most` leaves out what is above it, and nothing else") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    dice d(seed);
    const auto stages = random_stages(d, 1 + d.below(8), d.coin());
    const chain c = random_ends(d, stages, d.coin());
    const solver whole{c};
    for (const std::size_t k : {std::size_t{0}, whole.size() / 2, whole.size() - 1})
      for (const std::size_t less : {0U, 1U}) {
        if (whole[k].bytes < less) continue; // a composite may have 0 bytes, as all its ends are borrowed
        const std::size_t most = whole[k].bytes - less;
        const solver part{c, {}, {.most = most}};
        REQUIRE(part.size() == k + 1 - less);
        for (std::size_t j = 0; j < part.size(); ++j) {
          CHECK(part[j].bytes == whole[j].bytes);
          CHECK(part[j].cost == whole[j].cost);
          CHECK(outcome_of(c, part.route_of(j)).bytes <= most);
        }
      }
  }
}

TEST_CASE("solver: costs of another number of stages are refused") {
  const std::vector<stage> stages(4, dense(8, 8));
  const chain c{.stages = stages, .batch = 2, .input = {32, 0}};
  const std::vector<stage_cost> costs(3, stage_cost{1, 1, 2});
  CHECK_THROWS_WITH_AS((solver{c, costs}), doctest::Contains("a cost for each of 4 stages, found 3"), input_error);
}

} // namespace solve_solver_tests
