// SPDX-License-Identifier: MIT
// Budgets that are solved at compile time, compared with the exact solver of the same chain.
//
// long to compile
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <cairn/plan/solve/solver.hpp>
#include <doctest/doctest.h>

#include "../chains.hpp"

namespace solve_budget_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

// Chains as constants, each with its own sizes.
template <std::size_t Count, std::size_t Kept>
struct equal_blocks {
  static constexpr auto stages = [] {
    std::array<stage, Count> list{};
    for (stage& s : list) s = block(64, Kept);
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 16, .input = {256, 0}};
};
template <std::size_t Count, std::size_t Seed>
struct random_blocks {
  static constexpr auto stages = [] {
    std::array<stage, Count> list{};
    dice d(Seed);
    for (stage& s : list) s = block(64 + 16 * d.below(80), 1 + d.below(4));
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 16, .input = {256, 0}};
};
template <std::size_t Count, std::size_t Seed>
struct random_mlp {
  static constexpr auto stages = [] {
    std::array<stage, Count> list{};
    dice d(Seed);
    std::size_t width = 64;
    for (std::size_t i = 0; i < Count; i += 2) {
      const std::size_t next = 64 + 16 * d.below(80);
      list[i] = dense(width, next);
      if (i + 1 < Count) list[i + 1] = d.below(3) == 0 ? gelu(next) : relu(next);
      width = next;
    }
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 16, .input = {256, 0}};
};

template <class Source, class Policy>
void keeps_its_budget(std::size_t bytes) {
  using planned = plan_of<Source, Policy>;
  static_assert(bool(planned::proof));
  CHECK(planned::memory.arena <= bytes);
  const solver exact(Source::value);
  const std::size_t best = exact.within(bytes);
  REQUIRE(best < exact.size());
  const auto cost = flops(Source::value, planned::schedule.ops());
  CHECK(cost >= exact[best].cost);
  const double ratio = static_cast<double>(cost) / static_cast<double>(exact[best].cost);
  INFO("the exact solver's schedule costs 1, this one ", ratio);
  CHECK(ratio <= 1.03);
}
// The least arena that the compile-time solver finds for a chain.
template <class Source>
constexpr std::size_t least_of = plan_of<Source, typename budget<64>::tightest<Source, 64>>::memory.arena;

// Checks budgets of `Percent` per cent of store_all's arena.
template <class Source, std::size_t... Percent>
void keeps_budgets() {
  constexpr std::size_t all = plan_of<Source, store_all>::memory.arena;
  (keeps_its_budget<Source, budget_fraction<Percent>>(all * Percent / 100), ...);
}

} // namespace

TEST_CASE("the compiler's schedule keeps its budget and costs at most 3 percent more than the best one: "
          "equal stages") {
  keeps_budgets<equal_blocks<10, 1>, 35, 60, 95>();
#ifdef CAIRN_LONG_TESTS
  keeps_budgets<equal_blocks<16, 3>, 20, 55>();
  keeps_budgets<equal_blocks<40, 1>, 20>();
#endif
}
TEST_CASE("... random blocks") {
  keeps_budgets<random_blocks<5, 1>, 70, 90>();
  keeps_budgets<random_blocks<9, 2>, 50, 70, 90>();
#ifdef CAIRN_LONG_TESTS
  keeps_budgets<random_blocks<12, 3>, 40, 70>();
  keeps_budgets<random_blocks<16, 4>, 30, 75>();
#endif
}
TEST_CASE("... random products and activations") {
  keeps_budgets<random_mlp<6, 1>, 85, 95>();
  keeps_budgets<random_mlp<10, 2>, 85, 92>();
#ifdef CAIRN_LONG_TESTS
  keeps_budgets<random_mlp<16, 3>, 50, 65, 95>();
#endif
}

TEST_CASE("a budget of all that store_all needs is store_all's schedule, or one as cheap in less") {
  using source = random_blocks<9, 2>;
  constexpr auto cost = flops(source::value, plan_of<source, budget_fraction<100>>::schedule.ops());
  static_assert(cost == flops(source::value, plan_of<source, store_all>::schedule.ops()));
  using roomy = plan_of<source, budget<1_GiB>>;
  static_assert(flops(source::value, roomy::schedule.ops()) == cost);
}

TEST_CASE("a fraction of store_all is a budget of so many hundredths of its arena") {
  using source = equal_blocks<10, 1>;
  constexpr std::size_t all = plan_of<source, store_all>::memory.arena;
  CHECK(plan_of<source, budget_fraction<60>>::memory.arena <= all * 60 / 100);
  static_assert(flops(source::value, plan_of<source, budget_fraction<60>>::schedule.ops()) ==
                flops(source::value, plan_of<source, budget<all * 60 / 100>>::schedule.ops()));
}

TEST_CASE("what a budget costs over the cheapest schedule known for its bytes is a constant, and may be limited") {
  using source = random_mlp<12, 20>; // the cheapest schedule known for 176 KiB cannot be packed into them
  using taken = plan_of<source, budget<176_KiB>>;
  const solver exact(source::value);
  const std::uint64_t best = exact[exact.within(176_KiB)].cost;
  CHECK(taken::over_best == static_cast<double>(flops(source::value, taken::schedule.ops())) / static_cast<double>(best));
  static_assert(taken::over_best > 1.03 && taken::over_best < 1.04);
  static_assert(plan_of<source, budget<200_KiB>>::over_best == 1);
  static_assert(plan_of<source, budget<1_GiB>>::over_best == 1);

  static_assert(policy_fault_of<budget<176_KiB>, source> == policy_fault::none);
  static_assert(policy_fault_of<budget<176_KiB, percent<4>>, source> == policy_fault::none);
  static_assert(policy_fault_of<budget<176_KiB, percent<3>>, source> == policy_fault::too_dear);
  static_assert(policy_fault_of<budget<200_KiB, percent<0>>, source> == policy_fault::none);
}

TEST_CASE("the least possible budget is that of the exact solver, and it is kept") {
  using source = random_mlp<10, 2>;
  constexpr std::size_t least = least_of<source>;
  CHECK(least == solver(source::value)[0].bytes);
  using planned = plan_of<source, budget<least>>;
  static_assert(bool(planned::proof));
  CHECK(planned::memory.arena == least);
}

namespace {

struct lent_chain {
  static constexpr chain value{.stages = random_mlp<8, 5>::stages,
                               .batch = 16,
                               .input = {256, 0},
                               .lent = true,
                               .lent_output = true,
                               .lent_input_gradient = true,
                               .keeps_output_gradient = true};
};

} // namespace

TEST_CASE("a budget plans a chain that is lent, as a nested checkpoint's is") {
  constexpr std::size_t all = plan_of<lent_chain, store_all>::memory.arena;
  constexpr std::size_t bytes = (least_of<lent_chain> + all) / 2;
  using planned = plan_of<lent_chain, budget<bytes>>;
  static_assert(bool(planned::proof));
  CHECK(planned::memory.arena <= bytes);
}

namespace {

// Products, each followed by an activation of its width, with a window of gradients for each product.
struct fused_chain {
  static constexpr auto stages = random_mlp<14, 9>::stages;
  static constexpr auto windows = [] {
    std::array<gradient_window, 7> list{};
    for (std::uint32_t k = 0; k < 7; ++k) { // from the backward of product k to that of the one below it
      const std::uint32_t from = 12 - 2 * k;
      list[k] = {4 * stages[from].parameters, from, from >= 2 ? from - 2 : 0};
    }
    return list;
  }();
  static constexpr chain value{.stages = stages, .batch = 1024, .input = {256, 0}, .windows = windows};
};

} // namespace

TEST_CASE("a budget counts the windows of gradients") {
  keeps_budgets<fused_chain, 85, 95>();
  constexpr std::size_t least = least_of<fused_chain>;
  const std::size_t exact = solver(fused_chain::value)[0].bytes;
  CHECK((least >= exact && least < exact + exact / 50)); // windows and gradients on inputs leave gaps
  CHECK(least > solver({.stages = fused_chain::stages, .batch = 1024, .input = {256, 0}})[0].bytes);
}

TEST_CASE("below the least bytes a budget is refused, and the error says so") {
  using source = random_blocks<9, 2>;
  constexpr std::size_t least = least_of<source>;
  static_assert(policy_fault_of<budget<least>, source> == policy_fault::none);
  static_assert(policy_fault_of<budget<least - 1>, source> == policy_fault::refuses);
  using refused = typename detail::policy_diagnostic<budget<least - 1>, source>::type;
  static_assert(std::is_same_v<refused, detail::budget_of<detail::bytes_given<least - 1>, detail::least_possible_bytes<least>>>);
}

TEST_CASE("a chain that is solved on a grid keeps its budget, and costs little more than the best") {
  keeps_budgets<random_mlp<44, 3>, 60>();
}

TEST_CASE("more stages than the compiler solves are refused before it begins") {
  const auto accepts = [](std::size_t stages, bool equal) {
    std::vector<stage> list(stages, block(64, 1));
    for (std::size_t i = 0; i < stages && !equal; ++i) list[i].forward_flops = i;
    return solved_in_the_compiler::accepts({.stages = list, .input = {256, 0}});
  };
  CHECK(accepts(128, false));
  CHECK_FALSE(accepts(129, false));
  CHECK(accepts(1024, true));
  CHECK_FALSE(accepts(1025, true));
}

} // namespace solve_budget_tests
