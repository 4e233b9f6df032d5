// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/plan_route.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <doctest/doctest.h>

#include "chains.hpp"

namespace plan_route_tests {

using namespace cairn;
using namespace cairn::plan;
using namespace cairn::testing;

namespace {

struct source {
  static constexpr std::array<stage, 10> stages{dense(64, 128), relu(128),    block(128, 2), dropout(128),  dense(128, 64),
                                                gelu(64),       block(64, 1), block(64, 3),  dense(64, 32), dense(32, 8)};
  static constexpr chain value{.stages = stages, .batch = 24, .input = {256, 0}};
};

template <class Policy>
void is_the_constant() {
  using constant = detail::plan_of<source, Policy>;
  const detail::run_time_plan found = detail::plan_route(source::value, constant::moves);
  REQUIRE(found.training.count == constant::schedule.count);
  CHECK(found.training.loss == constant::schedule.loss);
  CHECK(found.training.lasting == constant::schedule.lasting);
  for (std::size_t t = 0; t < found.training.count; ++t) {
    CHECK(found.training.storage[t] == constant::schedule.storage[t]);
    CHECK(found.memory.live[t] == constant::memory.live[t]);
    CHECK(found.memory.at[t] == constant::memory.at[t]);
  }
  CHECK(found.memory.arena == constant::memory.arena);
}

} // namespace

TEST_CASE("a route planned when the program runs is planned as the compiler plans it") {
  is_the_constant<store_all>();
  is_the_constant<recompute_all>();
  is_the_constant<sqrt_n>();
  is_the_constant<revolve<3>>();
}

TEST_CASE("a route that is no walk up and back is refused") {
  auto moves = moves_of<store_all>(source::value);
  moves.erase(moves.begin() + 12);
  CHECK_THROWS_WITH_AS(detail::plan_route(source::value, moves), doctest::Contains("a backward is missing"), error);
}

TEST_CASE("a route with a position outside of the chain is refused") {
  auto moves = moves_of<store_all>(source::value);
  moves[3].position = 1'000'000;
  CHECK_THROWS_WITH_AS(detail::plan_route(source::value, moves),
                       doctest::Contains("the number of stages, found 1000000 in step 3 of the route"), input_error);
}

TEST_CASE("an arena that is too large for its places is refused") {
  chain large = source::value;
  large.batch = std::size_t{1} << 34;
  const auto moves = moves_of<store_all>(source::value);
  CHECK_THROWS_WITH_AS(detail::plan_route(large, moves), doctest::Contains("an arena of at most 256 GiB, found "), input_error);
}

} // namespace plan_route_tests
