// SPDX-License-Identifier: MIT
#include <cairn/net/head.hpp>

#include <cstddef>

#include <cairn/layer/head_in_strips.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/blueprint.hpp>
#include <doctest/doctest.h>

namespace head_tests {

using namespace cairn;

namespace {

using Layer = Linear<8, 100>;
template <class Last>
using With = Sequential<Linear<4, 8>, LayerNorm<8>, Last>;

} // namespace

TEST_CASE("head: a step passes the input of the head on, and an evaluation makes its output") {
  using whole = blueprint_of<With<Layer>, 64>;
  using strips = blueprint_of<With<head_in_strips<Layer, 16>>, 64>;
  static_assert(strips::head::in_strips && !whole::head::in_strips);
  constexpr const auto& last = strips::stages[2];
  constexpr const auto& alone = whole::stages[2];
  static_assert(last.output.at(64) == strips::stages[1].output.at(64) && last.in_place_forward && last.in_place_backward);
  static_assert(!last.reads_input && last.parameters == alone.parameters && last.forward_flops == 0);
  static_assert(last.backward_flops == alone.backward_flops + alone.forward_flops);
  static_assert(last.backward_workspace.at(64) == 448 + 16 * 100 * sizeof(float)); // a row of sums and a strip
  static_assert(strips::evaluated::arena == whole::evaluated::arena && strips::output_shape == shape{100});
  static_assert(strips::network_hash != whole::network_hash); // ranks refuse to mix them: they add in another order
  CHECK(strips::trained::arena == whole::trained::arena - 48 * 100 * sizeof(float) + 448); // both gradients of x lie on x
}

TEST_CASE("head: a strip is never larger than the output") {
  static_assert(blueprint_of<With<head_in_strips<Layer, 1000>>, 64>::stages[2].backward_workspace.at(64) ==
                448 + 64 * 100 * sizeof(float));
}

TEST_CASE("head: a network without one is planned as it was") {
  using plan = blueprint_of<With<Layer>, 64>;
  static_assert(plan::head::evaluated_source::value.stages.data() == plan::typed_source::value.stages.data());
}

} // namespace head_tests
