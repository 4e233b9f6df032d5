// SPDX-License-Identifier: MIT
// Tests of the plan of a network whose input gradient is wanted. For its values see tests/train/trainer/input_gradient.cpp.
#include <type_traits>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/proof.hpp>
#include <doctest/doctest.h>

namespace with_input_gradient_tests {

using namespace cairn;

namespace {

using Whole = Sequential<Input<8>, Tanh, Linear<8, 16>, ReLU, Linear<16, 4>>;
template <class Model>
using plan = blueprint_of<Model, 32>;

// The number of backwards that make a gradient of their input.
template <class Plan>
constexpr int gradients() {
  int count = 0;
  for (const detail::op& o : Plan::training.ops()) count += o.wants_input_gradient ? 1 : 0;
  return count;
}

} // namespace

TEST_CASE("with_input_gradient: backward goes down to the input, in the same arena") {
  using with = plan<with_input_gradient<Whole>>;
  using without = plan<Whole>;
  static_assert(without::whole.lowest_backward() > 0 && with::whole.lowest_backward() == 0);
  static_assert(gradients<with>() == static_cast<int>(with::size) && gradients<without>() == 2);
  static_assert(with::trained::arena == without::trained::arena); // the input's gradient is outside the arena
  static_assert(with::is_root && !with::whole.lent);
  static_assert(detail::prove<with::size>(with::whole, with::training.ops()));
}

TEST_CASE("with_input_gradient: it says how a network is trained, and computes the same function") {
  static_assert(std::is_same_v<detail::function_of<with_input_gradient<Whole>>, detail::function_of<Whole>>);
  static_assert(plan<with_input_gradient<checkpoint<sqrt_n, Whole>>>::network_hash == plan<Whole>::network_hash);
  static_assert(plan<with_input_gradient<Whole>>::schedule_hash != plan<Whole>::schedule_hash);
  static_assert(plan<fused_update<with_input_gradient<Whole>>>::fused && plan<with_input_gradient<fused_update<Whole>>>::fused);
}

} // namespace with_input_gradient_tests
