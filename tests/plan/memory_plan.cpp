// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/proof.hpp>

#include "chains.hpp"
#include "simulator.hpp"

namespace memory_plan_tests {

using namespace cairn;
using namespace cairn::plan;
using namespace cairn::testing;

namespace {

constexpr std::size_t most_stages = 6;
constexpr std::size_t most_moves = 80;
constexpr std::size_t most_ops = 2 * most_moves + 3 * most_stages + 2;
constexpr std::size_t most_windows = 8;

// Every kind of stage that a chain distinguishes. Sizes are in lines.
std::vector<stage> kinds() {
  std::vector<stage> list;
  for (unsigned bits = 0; bits < 64; ++bits) {
    stage s{};
    s.reads_input = bits & 1U;
    s.reads_output = bits & 2U;
    s.in_place_forward = s.in_place_backward = bits & 4U;
    s.tape = {bits & 8U ? 64U : 0U, 0};
    s.fuses = s.input_gradient_on_input = bits & 16U;
    s.parameters = bits & 16U ? 5 : 0;
    s.as_activation = (bits & 32U) && !(bits & 24U) ? 1 : 0;
    s.tape_without_output = bits & 32U;
    s.output = {64, 0};
    if (bits & 8U) s.forward_workspace = {0, 64};
    if ((bits & 24U) == 24U) s.evaluation_workspace = s.backward_workspace = {0, 128};
    list.push_back(s);
  }
  return list;
}

// A way in which a chain can be a part of another one, or the root.
struct way_to_stand {
  bool lent, output, input_gradient, keeps;
};
constexpr std::array<way_to_stand, 9> ways_to_stand{{{false, false, false, false},
                                                     {true, false, false, false},
                                                     {true, false, false, true},
                                                     {true, false, true, false},
                                                     {true, false, true, true},
                                                     {true, true, false, false},
                                                     {true, true, false, true},
                                                     {true, true, true, false},
                                                     {true, true, true, true}}};

// Proves one schedule, and that the simulated memory always holds what is read. Returns the fault, or "".
std::string check(const chain& c, std::span<const route_step> moves, journey kind) {
  const auto schedule = complete<most_stages, most_moves>(c, moves);
  if (const verdict v = prove<most_stages>(c, schedule.ops(), kind); !v) return "op " + std::to_string(v.at) + ": " + v.fault;
  const auto plan = detail::lay_out<most_stages, most_ops, most_windows>(c, schedule.ops(), schedule.loss);
  const slices lent{plan.tape, plan.forward_workspace, plan.backward_workspace};
  simulator whole(c, schedule.ops(), plan.at.data(), lent, plan.windows.data());
  if (auto wrong = whole.run(schedule.loss + 1, true); !wrong.empty()) return wrong;
  if (!c.lent && whole.touched() != plan.arena) return "the arena is not what is touched";
  if (!c.windows.empty()) {
    const auto later = detail::lay_out<at_run_time, at_run_time>(c, schedule.ops(), schedule.loss);
    if (later.arena != plan.arena) return "another arena when the program runs";
    for (std::size_t w = 0; w < c.windows.size(); ++w)
      if (!(later.windows[w] == plan.windows[w])) return "another place when the program runs";
  }
  if (plan.arena < plan.bound) return "less than the bound";
  if (plan.arena != plan.tape + std::max(plan.forward_workspace, plan.backward_workspace)) return "the slices do not add up";
  if (!c.lent || kind == journey::evaluation) return {};
  simulator part(c, schedule.ops(), plan.at.data(), lent);
  auto wrong = part.run(schedule.lasting, schedule.lasting_output);
  return wrong.empty() ? wrong : "only what lasts, " + wrong;
}

// Windows that open and close at random backwards, in the order in which they open.
std::vector<gradient_window> windows_of(const chain& c, dice& any) {
  std::vector<gradient_window> list;
  const std::size_t lowest = c.lowest_backward();
  for (std::size_t i = c.size(); i-- > lowest;)
    for (std::size_t k = any.below(3); k-- > 0 && list.size() < most_windows;)
      list.push_back({64 * (1 + any.below(4)), static_cast<std::uint32_t>(i),
                      static_cast<std::uint32_t>(lowest + any.below(i + 1 - lowest))});
  return list;
}

// All sequences of at most `longest` forwards of stages below n.
std::vector<std::vector<std::size_t>> rows(std::size_t n, std::size_t longest) {
  std::vector<std::vector<std::size_t>> list{{}};
  for (std::size_t begin = 0, length = 0; length < longest; ++length) {
    const std::size_t end = list.size();
    for (; begin < end; ++begin)
      for (std::size_t i = 0; i < n; ++i) {
        auto longer = list[begin];
        longer.push_back(i);
        list.push_back(longer);
      }
  }
  return list;
}

// Route number `index`: the forward pass, then one of the sequences before each backward.
std::vector<route_step> route_through(std::size_t n, const std::vector<std::vector<std::size_t>>& between, std::size_t index) {
  std::vector<route_step> moves;
  for (std::size_t i = 0; i < n; ++i) moves.push_back({static_cast<std::uint32_t>(i), false});
  for (std::size_t i = n; i-- > 0; index /= between.size()) {
    for (const std::size_t f : between[index % between.size()]) moves.push_back({static_cast<std::uint32_t>(f), false});
    moves.push_back({static_cast<std::uint32_t>(i), true});
  }
  return moves;
}

chain stand(std::span<const stage> stages, const way_to_stand& s, std::size_t batch = 1) {
  return {.stages = stages,
          .batch = batch,
          .input = {64, 0},
          .lent = s.lent,
          .lent_output = s.output,
          .lent_input_gradient = s.input_gradient,
          .keeps_output_gradient = s.keeps};
}

template <class Policy>
void check_policy(const chain& c, const std::string& name) {
  const auto moves = moves_of<Policy>(c);
  if (moves.size() > most_moves) return;
  const std::string wrong = check(c, moves, journey::training);
  CHECK_MESSAGE(wrong.empty(), name, ": ", wrong);
}

std::string describe(const chain& c) {
  std::string text = c.lent ? "lent" : "root";
  for (const bool b : {c.lent_output, c.lent_input_gradient, c.keeps_output_gradient}) text += b ? '1' : '0';
  for (const stage& s : c.stages) {
    text += ' ';
    for (const bool b : {s.reads_input, s.reads_output, s.in_place_forward, s.keeps_tape(), s.fuses, s.as_activation != 0,
                         s.tape_without_output})
      text += b ? '1' : '0';
    text += ':' + std::to_string(s.output.per_sample / 64);
  }
  return text;
}

} // namespace

TEST_CASE("memory_plan: every pair of stages on every short route") {
  const auto all = kinds();
  const auto between = rows(2, 2);
  for (const stage& first : all)
    for (const stage& second : all)
      for (const way_to_stand& s : ways_to_stand) {
        const std::array<stage, 2> stages{first, second};
        const chain c = stand(stages, s);
        const std::size_t routes = between.size() * between.size();
        // Every third route for the first and the last of `ways_to_stand`, every eleventh for the others, from a first route
        // that depends on the stages.
        const std::size_t stride = &s == &ways_to_stand[0] || &s == &ways_to_stand[8] ? 3 : 11;
        for (std::size_t r = (first.fuses + 2 * second.fuses) % stride; r < routes; r += stride) {
          const std::string wrong = check(c, route_through(2, between, r), journey::training);
          if (!wrong.empty()) FAIL(describe(c), " route ", r, ": ", wrong);
        }
      }
}

TEST_CASE("memory_plan: longer chains, any route, sizes and standing") {
  const auto all = kinds();
  dice any{1};
  for (std::size_t trial = 0; trial < 60'000; ++trial) {
    const std::size_t n = 1 + any.below(6);
    std::vector<stage> stages;
    const bool uniform = any.coin();
    std::size_t lines = 1;
    for (std::size_t i = 0; i < n; ++i) {
      stage s = all[any.below(all.size())];
      if (!uniform && s.as_activation == 0 && any.coin()) lines = 1 + any.below(5);
      s.output = {64 * lines, 0};
      stages.push_back(s);
    }
    const chain c = stand(stages, ways_to_stand[any.below(ways_to_stand.size())], 1 + any.below(2));
    const auto between = rows(n, 1 + (n < 4));
    std::vector<route_step> moves;
    for (std::size_t i = 0; i < n; ++i) moves.push_back({static_cast<std::uint32_t>(i), false});
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = any.below(8); k-- > 0;) moves.push_back({static_cast<std::uint32_t>(any.below(n)), false});
      moves.push_back({static_cast<std::uint32_t>(i), true});
    }
    const std::string wrong = check(c, moves, journey::training);
    if (!wrong.empty()) FAIL(trial, " ", describe(c), ": ", wrong);
  }
}

TEST_CASE("memory_plan: what only reshapes the input takes no memory, however the chain stands and whatever "
          "comes after") {
  const auto all = kinds();
  dice any{7};
  for (std::size_t trial = 0; trial < 20'000; ++trial) {
    std::vector<stage> stages;
    const std::size_t front = 1 + any.below(2), n = front + 1 + any.below(4);
    while (stages.size() < n) {
      stages.push_back(all[any.below(all.size())]);
      stages.back().output = {64 * (1 + any.below(2)), 0};
    }
    for (std::size_t i = 0; i < front; ++i) {
      stage s{};
      s.output = {64, 0};
      s.in_place_forward = s.in_place_backward = s.reshapes = true;
      s.reads_output = any.below(4) == 0;
      stages[i] = s;
    }
    const chain c = stand(stages, ways_to_stand[any.below(ways_to_stand.size())]);
    REQUIRE(c.reshaped_inputs() == front);
    const std::string name = describe(c);
    check_policy<store_all>(c, name);
    check_policy<recompute_all>(c, name);
    check_policy<sqrt_n>(c, name);
    const std::string wrong = check(c, moves_of<forward_pass>(c), journey::evaluation);
    CHECK_MESSAGE(wrong.empty(), name, ": ", wrong);
    // A forward pass takes the same memory as the chain without these stages.
    const auto arena = [&](const chain& of) {
      const auto schedule = complete<most_stages, most_moves>(of, moves_of<forward_pass>(of));
      return detail::lay_out<most_stages, most_ops, most_windows>(of, schedule.ops(), schedule.loss).forward_workspace;
    };
    chain rest = c;
    rest.stages = c.stages.subspan(front);
    CHECK_MESSAGE(arena(c) == arena(rest), name);
  }
}

TEST_CASE("memory_plan: windows for gradients lie beside everything that lives while they are open") {
  const auto all = kinds();
  dice any{5};
  std::size_t windows = 0;
  for (std::size_t trial = 0; trial < 20'000; ++trial) {
    const std::size_t n = 1 + any.below(6);
    std::vector<stage> stages;
    for (std::size_t i = 0; i < n; ++i) {
      stages.push_back(all[any.below(all.size())]);
      stages.back().output = {64 * (1 + any.below(3)), 0};
    }
    chain c = stand(stages, ways_to_stand[0]);
    const auto own = windows_of(c, any);
    c.windows = own;
    windows += own.size();
    const std::string wrong = any.coin() ? check(c, moves_of<recompute_all>(c), journey::training)
                                         : check(c, any.coin() ? moves_of<sqrt_n>(c) : moves_of<store_all>(c), journey::training);
    if (!wrong.empty()) FAIL(trial, " ", describe(c), ": ", wrong);
  }
  CHECK(windows > 20'000);
}

TEST_CASE("memory_plan: every policy and evaluation, every kind of stage in a row of three to six") {
  const auto all = kinds();
  dice any{2};
  for (std::size_t trial = 0; trial < 4'000; ++trial) {
    std::vector<stage> stages;
    const std::size_t n = 3 + any.below(4);
    while (stages.size() < n) stages.push_back(all[any.below(all.size())]);
    for (const way_to_stand& s : ways_to_stand) {
      const chain c = stand(stages, s);
      const std::string name = describe(c);
      check_policy<store_all>(c, name);
      check_policy<recompute_all>(c, name);
      check_policy<every<2>>(c, name);
      check_policy<sqrt_n>(c, name);
      check_policy<at<1>>(c, name);
      const std::string wrong = check(c, moves_of<forward_pass>(c), journey::evaluation);
      CHECK_MESSAGE(wrong.empty(), name, ": ", wrong);
    }
  }
}

} // namespace memory_plan_tests
