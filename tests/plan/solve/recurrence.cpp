// SPDX-License-Identifier: MIT
// Tests the recurrence with both kinds of fronts.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/budget_solver.hpp>
#include <cairn/plan/solve/pareto_front.hpp>
#include <cairn/plan/solve/partial_schedule.hpp>
#include <cairn/plan/solve/recurrence.hpp>
#include <cairn/plan/solve/sampled_front.hpp>
#include <cairn/plan/solve/solver.hpp>
#include <cairn/plan/solve/subproblem_table.hpp>

#include "../../long_tests.hpp"
#include "../chains.hpp"
#include "../families.hpp"
#include "../outcome.hpp"

namespace solve_recurrence_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

// Solves all problems of a chain. Each subproblem has its own result.
template <class Front, std::size_t Kinds>
struct solved {
  std::size_t stages;
  divisions<at_run_time> ways;
  subproblem_table<at_run_time> problems;
  std::unordered_map<std::size_t, Front> fronts;
  std::unordered_map<std::size_t, partial_schedules<Kinds>> units;

  decltype(auto) operator()(const segment& s) const {
    const Front& f = fronts.at(problems.place_of(s));
    if constexpr (requires { f.view(); }) return f.view();
    else return (f);
  }
  const partial_schedules<Kinds>& partials_of(const chain_unit& u) const { return units.at(problems.place_of(u)); }

  solved(const cost_table<at_run_time>& table, std::size_t count, std::size_t most_units, std::size_t budget, const Front& empty,
         bool beginnings = true)
      : stages(count), ways(table, stages, most_units, beginnings), problems(ways) {
    problems.each([&](const subproblem& j) {
      if (j.level != 0) {
        const std::size_t place = problems.place_of(j.as_unit());
        REQUIRE(units.find(place) == units.end());
        partial_schedules<Kinds> found{};
        solve_unit(ways, j.as_unit(), budget, *this, found);
        units.emplace(place, found);
      } else {
        const std::size_t place = problems.place_of(j.of);
        REQUIRE(fronts.find(place) == fronts.end());
        Front f = empty;
        solve_segment(ways, j.of, *this, f);
        fronts.emplace(place, f);
      }
    });
  }
};

std::vector<route_step> write(const auto& all, const chain& c, std::size_t bytes, need& out) {
  route counted{c};
  out = write_route(all.ways, all, bytes, counted);
  std::vector<route_step> moves(counted.size());
  route written{c, moves.data()};
  write_route(all.ways, all, bytes, written);
  return moves;
}

} // namespace

TEST_CASE("recurrence: what is written needs no more than its front says, of a whole chain or on a grid, of either kind") {
  constexpr std::size_t any = static_cast<std::size_t>(-1);
  using exact_fronts = solved<pareto_front, 65>;
  using sampled_fronts = solved<sampled_front<64>, 17>;
  std::size_t points = 0, compared = 0, equal = 0, coarse_points = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    dice d(seed);
    const std::size_t n = 1 + d.below(24);
    const auto stages = random_stages(d, n);
    const chain c = random_ends(d, stages, d.coin());
    const auto table = cost_table_of<at_run_time>(c);
    const std::size_t units = 5 + d.below(5);
    const exact_fronts whole{table, n, n + 1, any, pareto_front(any, -1)};
    const exact_fronts ruled{table, n, units, any, pareto_front(any, -1)};
    const segment all{0, n, {}};
    const front_view curve = whole(all), coarse = ruled(all);
    REQUIRE(curve.count > 0);
    CHECK(coarse.ways[0].bytes >= curve.ways[0].bytes);
    CHECK(coarse.cheapest().cost == curve.cheapest().cost);
    for (std::size_t k = 0; k < coarse.count; ++k, ++coarse_points) {
      const front_point w = coarse.ways[k];
      need own;
      const outcome real = outcome_of(c, write(ruled, c, w.bytes, own));
      REQUIRE(real.fault == nullptr);
      REQUIRE(real.bytes <= w.bytes);
      REQUIRE(own.bytes <= w.bytes);
      REQUIRE(own.cost <= w.cost);
      REQUIRE(real.cost <= own.cost);
      REQUIRE(w.cost >= curve.ways[curve.up_to(w.bytes) - 1].cost);
    }
    for (std::size_t k = 0; k < curve.count; ++k, ++points) {
      const front_point w = curve.ways[k];
      need own;
      outcome real = outcome_of(c, write(whole, c, w.bytes, own));
      REQUIRE(real.fault == nullptr);
      REQUIRE(real.bytes <= w.bytes);
      REQUIRE(own.bytes <= w.bytes);
      REQUIRE(own.cost <= w.cost);
      REQUIRE(real.cost <= own.cost);

      // The same by samples, with the bytes of this point as the budget.
      const budget_samples scale{.budget = static_cast<std::int64_t>(w.bytes), .count = 64};
      for (const std::size_t most : {n + 1, units}) {
        const sampled_fronts sampled{table, n, most, w.bytes, sampled_front<64>(scale)};
        const sampled_front<64>& at = sampled(all);
        REQUIRE(at.least.bytes >= curve.ways[0].bytes);
        if (at.low > 64) {
          REQUIRE(most == units);
          continue;
        }
        REQUIRE(at.cost[64] >= w.cost);
        if (most != units && n <= 14) {
          ++compared;
          equal += at.cost[64] == w.cost;
        }
        real = outcome_of(c, write(sampled, c, w.bytes, own));
        REQUIRE(real.fault == nullptr);
        REQUIRE(real.bytes <= w.bytes);
        REQUIRE(own.bytes <= w.bytes);
        REQUIRE(own.cost <= at.cost[64]);
      }
    }
  }
  CHECK(points > 500);
  CHECK(coarse_points > 500);
  CHECK(compared > 500);
  CHECK(equal * 100 >= compared * 97);
  MESSAGE("with 64 samples " << equal << " of " << compared << " are the cheapest");
}

namespace {

// Returns what the compile-time solver finds for a budget, with its samples, grid and units of cost. For a budget that it
// refuses, returns the least bytes that it finds, and a cost of 0.
template <std::size_t Samples>
need within_samples(const chain& c, const cost_table<at_run_time>& table, std::size_t budget) {
  const budget_samples scale{.budget = static_cast<std::int64_t>(budget), .count = Samples};
  using fronts = solved<sampled_front<Samples>, partial_kinds>;
  const fronts all(table, c.size(), units_for(table.items, c.size()), budget, sampled_front<Samples>(scale),
                   solves_beginnings(c.size()));
  need own = {all({0, c.size(), {}}).least.bytes, 0};
  if (own.bytes > budget) return own;
  const outcome real = outcome_of(c, write(all, c, budget, own));
  REQUIRE(real.fault == nullptr);
  REQUIRE(real.bytes <= budget);
  return {real.bytes, real.cost};
}
need within_budget(const chain& c, std::size_t budget) {
  const auto table = in_cost_units<at_run_time>(cost_table_of<at_run_time>(c));
  const divisions<at_run_time> ways{table, c.size(), units_for(table.items, c.size()), solves_beginnings(c.size())};
  std::size_t problems = 0;
  subproblem_table<at_run_time>{ways}.each([&](const subproblem&) { ++problems; });
  switch (samples_for(problems)) {
  case 64: return within_samples<64>(c, table, budget);
  case 48: return within_samples<48>(c, table, budget);
  case 32: return within_samples<32>(c, table, budget);
  default: return within_samples<24>(c, table, budget);
  }
}

std::vector<stage> copies_of(const std::vector<stage>& block, std::size_t times) {
  std::vector<stage> list;
  for (std::size_t k = 0; k < times; ++k) list.insert(list.end(), block.begin(), block.end());
  list.push_back(dense(64, 10));
  return list;
}

} // namespace

// A row for each chain, a column for each budget; the table is kept in tests/bench/RESULTS.md.
TEST_CASE("recurrence: what the compiler's samples and grid cost over the whole front") {
  dice d(77);
  const std::vector<stage> twelve = block_stages(d, 12);
  struct row {
    std::string name;
    std::vector<stage> stages;
    double least, others; // the most times the front's cost: at the least bytes, and above
    // Budgets and their costs on the whole front, without and with windows, for chains whose front takes minutes to compute.
    std::vector<need> known[2]{};
  };
  std::vector<row> rows;
  for (const std::size_t n : {8U, 32U, 100U})
    rows.push_back({std::to_string(n) + " equal blocks", copies_of({block(64, 1)}, n), 1.01, 1.01});
  rows.push_back({"300 equal blocks",
                  copies_of({block(64, 1)}, 300),
                  1.01,
                  1.03,
                  {{{98304, 747122432},
                    {293928, 24055552},
                    {1076428, 19156736},
                    {2543616, 18419456},
                    {4988928, 17198848},
                    {7923302, 15732480},
                    {9879552, 14749440}},
                   {{131072, 747122432},
                    {326421, 24014592},
                    {1107820, 19148544},
                    {2572944, 18419456},
                    {5014816, 17198848},
                    {7945062, 15732480},
                    {9898560, 14749440}}}});
  rows.push_back({"1000 equal blocks",
                  copies_of({block(64, 1)}, 1000),
                  1.01,
                  1.03,
                  {{{98304, 8224780032},
                    {752680, 74190592},
                    {3370188, 63885056},
                    {8278016, 61427456},
                    {16457728, 57339648},
                    {26273382, 52432640},
                    {32817152, 49155840}},
                   {{131072, 8224780032},
                    {785173, 74166016},
                    {3401580, 63876864},
                    {8307344, 61427456},
                    {16483616, 57339648},
                    {26295142, 52440832},
                    {32836160, 49155840}}}});
  rows.push_back({"12 blocks x 12", copies_of(twelve, 12), 1.01, 1.03});
  rows.push_back({"12 blocks x 48",
                  copies_of(twelve, 48),
                  1.01,
                  1.03,
                  {{{98304, 119744496},
                    {345162, 10097040},
                    {1332595, 8732688},
                    {3184032, 8040480},
                    {6269760, 7398720},
                    {9972633, 6974976},
                    {12441216, 6878496}},
                   {{116736, 119744496},
                    {363462, 10097040},
                    {1350368, 8731872},
                    {3200816, 8036832},
                    {6284896, 7398720},
                    {9985792, 6975456},
                    {12453056, 6878496}}}});
  for (const std::size_t n : {16U, 32U, 64U, 100U}) {
    dice own(n);
    rows.push_back({std::to_string(n) + " Linear, ReLU", mlp_stages(own, n), n <= 32 ? 1.13 : 1.16, n <= 32 ? 1.02 : 1.03});
    rows.push_back({std::to_string(n) + " blocks", block_stages(own, n), n <= 32 ? 1.02 : 1.05, n <= 32 ? 1.02 : 1.03});
  }
  constexpr std::array<std::size_t, 7> percents{0, 2, 10, 25, 50, 80, 100};
  std::string table = "\n| chain | least | +2 % | +10 % | +25 % | +50 % | +80 % | store_all |\n"
                      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const row& r : rows)
    for (const bool fused : {false, true}) {
      std::vector<gradient_window> windows; // one for each stage with parameters, open until the next such stage's backward ends
      for (std::size_t i = r.stages.size(), last = i; i-- > 0;) {
        if (r.stages[i].parameters == 0) continue;
        if (last < r.stages.size()) windows[windows.size() - 1].to = static_cast<std::uint32_t>(i);
        windows.push_back({4 * r.stages[i].parameters, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)});
        last = i;
      }
      chain c{.stages = r.stages, .batch = 64, .input = {256, 0}};
      if (fused) c.windows = windows;
      std::vector<need> best = r.known[fused ? 1 : 0];
      if (best.empty()) {
        const solver whole{c};
        const std::size_t least = whole[0].bytes, most = whole[whole.size() - 1].bytes;
        for (const std::size_t percent : percents) {
          const std::size_t budget = least + (most - least) * percent / 100;
          best.push_back({budget, whole[whole.within(budget)].cost});
        }
      }
      table += "| " + r.name + (fused ? ", fused_update" : "");
      std::uint64_t before = static_cast<std::uint64_t>(-1);
      for (std::size_t k = 0; k < percents.size(); ++k) {
        const std::size_t percent = percents[k];
        const need found = within_budget(c, best[k].bytes);
        if (found.cost == 0) {
          CHECK(percent == 0); // the least budget is missed by a few values
          CHECK_FALSE(solves_beginnings(c.size()));
          CHECK((found.bytes - best[0].bytes) * 100 <= best.back().bytes);
          table += " | -";
          continue;
        }
        const double ratio = static_cast<double>(found.cost) / static_cast<double>(best[k].cost);
        CAPTURE(r.name);
        CAPTURE(percent);
        CHECK(ratio <= (percent == 0 ? r.least : percent == 2 ? std::max(r.others, r.least) : r.others));
        CHECK(found.cost <= before); // more memory is never slower
        before = found.cost;
        char text[32];
        std::snprintf(text, sizeof text, " | %.3f", ratio);
        table += text;
      }
      table += " |\n";
    }
  MESSAGE(table);
}

namespace {

// Layers as networks have them, with images of `pixels`.
constexpr stage layer_norm(std::size_t width) {
  stage s = gelu(width);
  s.tape = {8, 0}; // the mean and the deviation of a row
  s.parameters = 2 * width;
  s.forward_flops = s.input_gradient_flops = 8 * width;
  s.backward_flops = 12 * width;
  return s;
}
constexpr stage convolution(std::size_t pixels, std::size_t in, std::size_t out) {
  stage s = dense(9 * in, out);
  s.output = {4 * pixels * out, 0};
  s.forward_flops *= pixels;
  s.backward_flops *= pixels;
  s.input_gradient_flops *= pixels;
  return s;
}
constexpr stage batch_norm(std::size_t pixels, std::size_t channels) {
  stage s = layer_norm(pixels * channels);
  s.tape = {0, 8 * channels};
  s.parameters = 2 * channels;
  return s;
}
constexpr stage max_pool(std::size_t pixels, std::size_t channels) { // from four times as many pixels
  stage s{};
  s.output = {4 * pixels * channels, 0};
  s.tape = {pixels * channels, 0};
  s.forward_flops = s.backward_flops = s.input_gradient_flops = 4 * pixels * channels;
  return s;
}
constexpr stage embedding(std::size_t width) {
  stage s = dense(1000, width);
  s.forward_flops = s.backward_flops = width;
  s.input_gradient_flops = 0;
  return s;
}
void add_convolutions(std::vector<stage>& list, std::size_t count, std::size_t pixels, std::size_t in, std::size_t out) {
  for (std::size_t i = 0; i < count; ++i)
    for (const stage& s : {convolution(pixels, i == 0 ? in : out, out), batch_norm(pixels, out), relu(pixels * out)})
      list.push_back(s);
}
// `count` times Linear and what follows it, of one width or of random ones.
template <class... Then>
std::vector<stage> linear_and(std::size_t count, bool differ, Then... then) {
  dice d(count);
  std::vector<stage> list;
  for (std::size_t i = 0, width = 128; i < count; ++i) {
    const std::size_t next = differ ? 16 * (1 + d.below(16)) : width;
    list.push_back(dense(width, next));
    (list.push_back(then(next)), ...);
    width = next;
  }
  return list;
}

// Networks by name, of 34 to 100 stages.
std::vector<std::pair<std::string, std::vector<stage>>> networks() {
  std::vector<std::pair<std::string, std::vector<stage>>> all;
  const auto named = [&](const char* name) -> std::vector<stage>& { return all.emplace_back(name, std::vector<stage>{}).second; };
  named("33 Linear, LayerNorm, ReLU, equal") = linear_and(33, false, layer_norm, relu);
  named("33 Linear, LayerNorm, ReLU") = linear_and(33, true, layer_norm, relu);
  named("50 Linear, GELU, equal") = linear_and(50, false, gelu);
  named("50 Linear, GELU") = linear_and(50, true, gelu);
  named("24 Linear, LayerNorm, GELU, Dropout") = linear_and(24, true, layer_norm, gelu, cairn::testing::dropout);
  named("50 Linear, ReLU, equal") = linear_and(50, false, relu);
  std::vector<stage>& pyramid = named("convolutions, a pyramid");
  for (std::size_t level = 0, pixels = 1024, channels = 16; level < 5; ++level, pixels /= 4, channels *= 2) {
    add_convolutions(pyramid, 4, pixels, level == 0 ? 3 : channels / 2, channels);
    if (level < 4) pyramid.push_back(max_pool(pixels / 4, channels));
  }
  std::vector<stage>& vgg = named("VGG, 8 convolutions");
  for (const auto& [count, pixels, in, out] :
       {std::array<std::size_t, 4>{1, 1024, 3, 64}, {1, 256, 64, 128}, {2, 64, 128, 256}, {2, 16, 256, 512}, {2, 4, 512, 512}}) {
    add_convolutions(vgg, count, pixels, in, out);
    vgg.push_back(max_pool(pixels / 4, out));
  }
  for (const stage& s : {dense(512, 512), relu(512), dense(512, 512), relu(512), dense(512, 10)}) vgg.push_back(s);
  std::vector<stage>& resnet = named("ResNet-56");
  add_convolutions(resnet, 1, 1024, 3, 16);
  for (std::size_t level = 0, pixels = 1024, channels = 16; level < 3; ++level, pixels /= 4, channels *= 2)
    for (std::size_t i = 0; i < 9; ++i) {
      stage s = block(pixels * channels, 4);
      s.parameters = 18 * channels * channels;
      s.forward_flops = 36 * pixels * channels * channels;
      s.tape_flops = s.forward_flops;
      s.backward_flops = 2 * s.forward_flops;
      resnet.push_back(s);
      resnet.push_back(relu(pixels * channels));
    }
  std::vector<stage>& valley = named("widths of a U");
  for (std::size_t i = 0, width = 256; i < 24; ++i) {
    const std::size_t next = 256 - 18 * (i < 12 ? i : 23 - i);
    for (const stage& s : {dense(width, next), relu(next)}) valley.push_back(s);
    width = next;
  }
  std::vector<stage>& giant = named("one giant layer of 100");
  for (std::size_t i = 0; i < 50; ++i)
    for (const stage& s : {dense(i == 31 ? 4096 : 64, i == 30 ? 4096 : 64), relu(i == 30 ? 4096 : 64)}) giant.push_back(s);
  std::vector<stage>& growth = named("growth as in a DenseNet");
  for (std::size_t i = 0; i < 48; ++i) {
    stage s = block(64 + 12 * i, 2);
    s.output = {4 * (64 + 12 * (i + 1)), 0};
    growth.push_back(s);
  }
  std::vector<stage>& transformer = named("24 blocks of a transformer");
  transformer.push_back(embedding(192));
  for (std::size_t i = 0; i < 24; ++i) {
    transformer.push_back(block(192, 6)); // attention
    transformer.push_back(block(192, 9));
  }
  transformer.push_back(layer_norm(192));
  transformer.push_back(dense(192, 1000));
  return all;
}

// The gradients of a chain's parameters in buckets of at least `bytes`, each open until the backward of the next bucket's first
// stage ends.
std::vector<gradient_window> buckets_of(const std::vector<stage>& stages, std::size_t bytes) {
  std::vector<gradient_window> windows;
  bool full = true;
  for (std::size_t i = stages.size(); i-- > 0;) {
    if (stages[i].parameters == 0) continue;
    const auto at = static_cast<std::uint32_t>(i);
    if (full && !windows.empty()) windows.back().to = at;
    if (full) windows.push_back({0, at, at});
    windows.back().bytes += 4 * stages[i].parameters;
    if (!full) windows.back().to = at;
    full = windows.back().bytes >= bytes;
  }
  return windows;
}

} // namespace

TEST_CASE("recurrence: what the compiler's samples and grid cost networks, by name") {
  constexpr std::array<std::size_t, 9> percents{0, 1, 2, 5, 10, 25, 50, 75, 90};
  std::string table = "\n| network | least | +1 byte | +1 % | +2 % | +5 % | +10 % | +25 % | +50 % | +75 % | +90 % |\n"
                      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& network : networks())
    for (const std::size_t bucket : {0U, 1U, 1U << 18}) { // no windows; one for each stage; buckets
      if (bucket != 0 && !::testing::long_tests) continue;
      const std::vector<gradient_window> windows = buckets_of(network.second, bucket);
      chain c{.stages = network.second, .batch = 16, .input = {4 * 3072, 0}};
      if (bucket != 0) c.windows = windows;
      const solver whole{c};
      const std::size_t least = whole[0].bytes, most = whole[whole.size() - 1].bytes;
      table += "| " + network.first + (bucket == 0 ? "" : bucket == 1 ? ", fused_update" : ", in buckets");
      std::uint64_t before = static_cast<std::uint64_t>(-1) / 2000;
      const auto add = [&](std::size_t budget, double limit) {
        const need found = within_budget(c, budget);
        const double ratio = static_cast<double>(found.cost) / static_cast<double>(whole[whole.within(budget)].cost);
        CAPTURE(network.first);
        CAPTURE(bucket);
        CAPTURE(budget);
        CHECK(found.cost != 0);
        CHECK(ratio <= limit);
        CHECK(found.cost * 1000 <= before * 1013); // more memory is hardly ever slower
        before = std::min(before, found.cost);
        char text[32];
        std::snprintf(text, sizeof text, " | %.3f", ratio);
        table += text;
      };
      const bool in_buckets = bucket > 1;
      const double tight = network.first == "one giant layer of 100" ? 1.51 : in_buckets ? 1.2 : 1.12;
      for (const std::size_t percent : percents) {
        add(least + (most - least) * percent / 100, percent < 5 ? tight : in_buckets ? 1.08 : 1.06);
        if (percent == 0) add(least + 1, tight);
      }
      table += " |\n";
    }
  MESSAGE(table);
}

} // namespace solve_recurrence_tests
