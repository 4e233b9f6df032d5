// SPDX-License-Identifier: MIT
#include <type_traits>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/sequential.hpp>

#include "planned.hpp"

namespace sequential_tests {

using namespace cairn;

namespace {

using Flat = Sequential<Linear<12, 16>, ReLU, LayerNorm<16>, Linear<16, 16>, ReLU, Linear<16, 3>>;
using InParts = Sequential<Sequential<Linear<12, 16>>, Sequential<ReLU, Sequential<LayerNorm<16>, Linear<16, 16>>>, ReLU,
                           Sequential<>, Sequential<Linear<16, 3>>>;
using flat = blueprint_of<Flat, 4>;
using in_parts = blueprint_of<InParts, 4>;

} // namespace

TEST_CASE("sequential: parts in parts are the same chain") {
  static_assert(std::is_same_v<flat::elements, in_parts::elements>);
  static_assert(flat::order == in_parts::order);
  static_assert(flat::network_hash == in_parts::network_hash);
  static_assert(flat::schedule_hash == in_parts::schedule_hash);
  static_assert(flat::trained::memory.arena == in_parts::trained::memory.arena);
  testing::check_network<InParts, 4, float>();
}

TEST_CASE("sequential: a single layer is a network") {
  testing::check_network<Sequential<Linear<5, 3>>, 3, float>();
  testing::check_network<Sequential<LayerNorm<7>>, 5, double>();
}

TEST_CASE("sequential: a network without parameters has an output and no way back") {
  using Net = Sequential<Input<2, 3>, ReLU>;
  static_assert(blueprint_of<Net, 4>::parameters == 0);
  const auto p = testing::plan<Net, 4, float>();
  testing::queue q{1};
  testing::replica<float> r(p);
  const auto got = r.step(q, 3, true);
  CHECK(testing::same_bits(got.output, testing::expected<Net, float>(p, q, 3).output));
  CHECK(r.finished() == 0);
}

} // namespace sequential_tests
