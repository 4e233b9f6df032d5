// SPDX-License-Identifier: MIT
#include <cstddef>

#include <cairn/layer/embedding.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/ties.hpp>
#include <doctest/doctest.h>

namespace ties_tests {

using namespace cairn;

namespace {

using Table = Embedding<50, 8>;
template <class Last>
using plan = blueprint_of<Sequential<Inputs<integers<4>>, Table, Linear<8, 8>, ReLU, Last>, 16>;

} // namespace

TEST_CASE("ties: the parameter is there once, and has one bucket's worth of gradients") {
  using tied = plan<Tied<Linear<8, 50>, Table>>;
  using apart = plan<Linear<8, 50>>;
  static_assert(tied::tie_count == 1 && apart::tie_count == 0);
  static_assert(tied::ties.of[0].user == 4 && tied::ties.of[0].owner == 1 && tied::ties.elements >= 50 * 8);
  static_assert(tied::parameters + 50 * 8 == apart::parameters);
  static_assert(tied::trained::arena == apart::trained::arena);
  // The owner's gradient is the last to be complete.
  constexpr auto buckets = tied::buckets<1, false>;
  static_assert(buckets[buckets.size() - 1].end == tied::parameter_block);
}

TEST_CASE("ties: users of one owner wait beside one another") {
  using two = blueprint_of<Sequential<Inputs<integers<4>>, Table, Tied<Linear<8, 50, false>, Table>, ReLU, Linear<50, 8>,
                                      Tied<Linear<8, 50, false>, Table>>,
                           16>;
  static_assert(two::tie_count == 2 && two::ties.of[1].waits_at > 0 && two::ties.of[0].owner == two::ties.of[1].owner);
}

} // namespace ties_tests
