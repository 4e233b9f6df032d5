// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <type_traits>

#include <doctest/doctest.h>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>

#include "chains.hpp"

using namespace cairn;
using namespace cairn::testing;

namespace {

template <std::size_t N, bool Lent = false>
struct row {
  static constexpr auto stages = [] {
    std::array<stage, N> list{};
    for (std::size_t i = 0; i < N; ++i) list[i] = i % 2 == 0 ? dense(64, 64) : relu(64);
    list[N - 1] = dense(64, 64);
    return list;
  }();
  static constexpr chain value{.stages = stages,
                               .batch = 8,
                               .input = {256, 0},
                               .lent = Lent,
                               .lent_output = Lent,
                               .lent_input_gradient = Lent};
};

template <class Plan>
constexpr bool tight = Plan::proof&& Plan::memory.arena * 100 <= Plan::memory.bound * 102;

} // namespace

TEST_CASE("plan_of: a thousand stages, within every compiler's default limits") {
  static_assert(tight<plan_of<row<1000>, store_all>>);
  static_assert(tight<plan_of<row<1000>, sqrt_n>>);
  static_assert(tight<plan_of<row<200>, every<10>>>);
  using stored = plan_of<row<1000>, store_all>;
  using rooted = plan_of<row<1000>, sqrt_n>;
  static_assert(rooted::memory.arena * 100 < stored::memory.arena * 16);
  MESSAGE("1000 stages, arena / bound: store_all " << stored::memory.arena << " / " << stored::memory.bound
                                                   << ", sqrt_n " << rooted::memory.arena << " / "
                                                   << rooted::memory.bound);
  CHECK(stored::schedule.count == stored::schedule.storage.size());
}

TEST_CASE("plan_of: the same as step by step") {
  using source = row<9, true>;
  using plan = plan_of<source, every<3>>;
  constexpr auto ops = make_schedule<every<3>, 9, count_moves<every<3>>(source::value)>(source::value);
  static_assert(ops.count == plan::schedule.count && ops.turn == plan::schedule.turn && plan::proof);
  for (std::size_t t = 0; t < ops.count; ++t) CHECK(ops.storage[t] == plan::schedule.storage[t]);
  constexpr auto memory = make_memory_plan<9, ops.count>(source::value, ops.ops(), ops.turn);
  static_assert(memory.tape == plan::memory.tape && memory.arena == plan::memory.arena);
  for (std::size_t t = 0; t < ops.count; ++t) {
    CHECK(memory.at[t] == plan::memory.at[t]);
    CHECK(memory.live[t] == plan::memory.live[t]);
  }
}

TEST_CASE("plan_of: one stage, and an evaluation") {
  static_assert(tight<plan_of<row<1>, store_all>> && tight<plan_of<row<1>, way_up>>);
  static_assert(plan_of<row<9>, way_up>::kind == journey::evaluation);
  CHECK(plan_of<row<9>, way_up>::memory.arena == 2 * 8 * 256); // two values
}

namespace {

// Looks for a schedule by planning two, and takes the second.
template <std::size_t Segment>
struct tried : every<Segment> {
  static constexpr std::size_t enough = 1_MiB;
};
struct picky {
  struct choice {
    using found = tried<3>;
    static constexpr void plan(const chain& c, route& out) { found::plan(c, out); }
  };
  template <class Source>
  using on = choice;
};

} // namespace

TEST_CASE("plan_of: what a policy has planned to find its route is not planned again") {
  using plan = plan_of<row<20>, picky>;
  static_assert(std::is_base_of_v<plan_of<row<20>, tried<3>>, plan>);
  static_assert(plan::proof && plan::enough == 1_MiB && plan_of<row<20>, every<3>>::enough == 0);
  CHECK(plan::schedule.count == plan_of<row<20>, every<3>>::schedule.count);
}
