// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <type_traits>

#include <doctest/doctest.h>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>

#include "chains.hpp"

namespace plan_of_tests {

using namespace cairn;
using namespace cairn::detail;
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
  static constexpr chain value{
      .stages = stages, .batch = 8, .input = {256, 0}, .lent = Lent, .lent_output = Lent, .lent_input_gradient = Lent};
};

template <class Plan>
constexpr bool tight = Plan::proof && Plan::memory.arena * 100 <= Plan::memory.bound * 102;

} // namespace

TEST_CASE("plan_of: a thousand stages, within every compiler's default limits") {
  static_assert(tight<plan_of<row<1000>, store_all>>);
  static_assert(tight<plan_of<row<1000>, sqrt_n>>);
  static_assert(tight<plan_of<row<200>, every<10>>>);
  using stored = plan_of<row<1000>, store_all>;
  using rooted = plan_of<row<1000>, sqrt_n>;
  static_assert(rooted::memory.arena * 100 < stored::memory.arena * 16);
  MESSAGE("1000 stages, arena / bound: store_all " << stored::memory.arena << " / " << stored::memory.bound << ", sqrt_n "
                                                   << rooted::memory.arena << " / " << rooted::memory.bound);
  CHECK(stored::schedule.count == stored::schedule.storage.size());
}

TEST_CASE("plan_of: the same as step by step") {
  using source = row<9, true>;
  using plan = plan_of<source, every<3>>;
  constexpr auto& moves = plan::moves;
  constexpr auto ops = complete<9, moves.size()>(source::value, moves);
  static_assert(ops.count == plan::schedule.count && ops.loss == plan::schedule.loss && plan::proof);
  for (std::size_t t = 0; t < ops.count; ++t) CHECK(ops.storage[t] == plan::schedule.storage[t]);
  constexpr auto memory = lay_out<9, ops.count>(source::value, ops.ops(), ops.loss);
  static_assert(memory.tape == plan::memory.tape && memory.arena == plan::memory.arena);
  for (std::size_t t = 0; t < ops.count; ++t) {
    CHECK(memory.at[t] == plan::memory.at[t]);
    CHECK(memory.live[t] == plan::memory.live[t]);
  }
}

TEST_CASE("plan_of: one stage, and an evaluation") {
  static_assert(tight<plan_of<row<1>, store_all>> && tight<plan_of<row<1>, forward_pass>>);
  static_assert(plan_of<row<9>, forward_pass>::kind == journey::evaluation);
  CHECK(plan_of<row<9>, forward_pass>::memory.arena == 2 * 8 * 256); // two values
}

namespace {

// The candidates for a budget: store_all, then a stored input at every third stage, then at every second.
template <std::size_t Distance>
struct candidate : every<Distance> {
  using next = candidate<Distance - 1>;
};
template <>
struct candidate<2> : every<2> {
  using next = void;
};
struct stored : store_all {
  using next = candidate<3>;
};
template <std::size_t Bytes>
struct frugal {
  static constexpr std::size_t bytes = Bytes;
  template <class Source, std::size_t>
  using cheapest = stored;
  template <class Source, std::size_t>
  using tightest = candidate<3>;
};

template <class Policy>
constexpr std::size_t arena = plan_of<row<20>, Policy>::arena;

} // namespace

TEST_CASE("plan_of: of a policy that keeps a budget, the first candidate whose arena fits is planned, once") {
  static_assert(arena<every<3>> < arena<store_all> && arena<every<3>> < arena<every<2>>);
  using whole = plan_of<row<20>, frugal<arena<store_all>>>;
  static_assert(std::is_base_of_v<plan_of<row<20>, stored, arena<store_all>>, whole>);
  static_assert(whole::proof && whole::enough == arena<store_all>);
  using third = plan_of<row<20>, frugal<arena<store_all> - 1>>;
  static_assert(std::is_base_of_v<plan_of<row<20>, candidate<3>, arena<store_all> - 1>, third>);
  CHECK(third::schedule.count == plan_of<row<20>, every<3>>::schedule.count);
}

TEST_CASE("plan_of: none of the candidates fits, and the least arena is that of one of them") {
  static_assert(std::is_void_v<fitting<row<20>, frugal<arena<every<3>> - 1>>>);
  static_assert(least_arena<row<20>, candidate<3>>() == arena<every<3>>);
  static_assert(least_arena<row<20>, candidate<2>>() == arena<every<2>>);
}

} // namespace plan_of_tests
