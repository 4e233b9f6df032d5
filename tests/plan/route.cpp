// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/policies.hpp>
#include <cairn/plan/route.hpp>

#include "chains.hpp"

namespace route_tests {

using namespace cairn;
using namespace cairn::plan;
using namespace cairn::testing;

TEST_CASE("route: spans, and a count without an array") {
  static constexpr std::array<stage, 3> stages{dense(4, 4), dropout(4), dense(4, 4)};
  constexpr chain c{.stages = stages};
  constexpr auto moves = [&] {
    std::array<route_step, 8> list{};
    route r{c, list.data()};
    r.forward(0, 3);
    r.backward(1, 3);
    r.forward(2);
    r.backward(0);
    r.forward(2, 2);
    return list;
  }();
  static_assert(moves[0] == route_step{0, false} && moves[2] == route_step{2, false} && moves[3] == route_step{2, true});
  static_assert(moves[4] == route_step{1, true} && moves[5] == route_step{2, false} && moves[6] == route_step{0, true});
  route counted{c};
  counted.forward(0, 3);
  counted.backward(0, 3);
  CHECK(counted.size() == 6);
}

TEST_CASE("route: a segment is made again up to its last stage, which is needed only for its tape") {
  const std::vector<stage> stages{dense(4, 4), dropout(4), dense(4, 4)};
  const chain c{.stages = stages};
  route r{c};
  r.recompute(0, 3);
  CHECK(r.size() == 2); // the output of the last is not read again
  const chain inside{.stages = stages, .lent = true};
  route whole{inside};
  whole.recompute(0, 3);
  CHECK(whole.size() == 3); // no stage follows that would have read it just before
  whole.recompute(0, 1);
  CHECK(whole.size() == 3);
  route taped{c};
  taped.recompute(0, 2);
  CHECK(taped.size() == 2);
  route empty{c};
  empty.recompute(1, 1);
  CHECK(empty.size() == 0);
}

TEST_CASE("route: what a policy is") {
  struct nothing {};
  struct answers {
    static int plan(const chain&, route&) { return 1; }
  };
  static_assert(plan::checkpoint_policy<store_all> && plan::checkpoint_policy<every<3>> && plan::checkpoint_policy<at<>>);
  static_assert(!plan::checkpoint_policy<nothing> && !plan::checkpoint_policy<answers> && !plan::checkpoint_policy<int>);
  CHECK(plan::checkpoint_policy<sqrt_n>);
}

TEST_CASE("route: a position that no number of 32 bits has is not taken for another one") {
  std::array<route_step, 2> moves{};
  const chain c{};
  route r{c, moves.data()};
  r.forward((std::size_t{1} << 32) + 1);
  r.backward(std::size_t{1} << 40);
  CHECK(moves[0].position == 0xFFFFFFFFU);
  CHECK(moves[1].position == 0xFFFFFFFFU);
}

} // namespace route_tests
