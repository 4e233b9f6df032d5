// SPDX-License-Identifier: MIT
// Tests of what the plan knows of a network whose outputs are all used. For its values see tests/train/trainer/all_outputs.cpp.
#include <type_traits>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/net/with_input_gradient.hpp>
#include <cairn/plan/proof.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"

namespace with_all_outputs_tests {

using namespace cairn;

namespace {

using Body = Sequential<Linear<8, 16>, ReLU, testing::Split>;
using Heads = Sequential<Body, Linear<16, 4>, testing::Swap, Linear<16, 3>>;
template <class Model>
using plan = blueprint_of<Model, 32>;

template <class Model, class Diagnostic>
constexpr bool finds = std::is_same_v<typename detail::network_diagnostic<Model>::type, Diagnostic>;

} // namespace

TEST_CASE("with_all_outputs: every tensor of the last value has a gradient, and memory for it") {
  using all = plan<with_all_outputs<Heads>>;
  static_assert(all::all_outputs && all::is_root && all::outputs.count == 2);
  static_assert(all::outputs[0] == tensor{3} && all::outputs[1] == tensor{4});
  static_assert(all::values.gradients[all::size] == 3);
  static_assert(all::whole.gradient_bytes(all::size) == all::whole.value_bytes(all::size));
  static_assert(detail::prove<all::size>(all::whole, all::training.ops()));
  using first = plan<Body>; // its second tensor is not used
  static_assert(!first::all_outputs && first::values.gradients[first::size] == 1);
  static_assert(plan<with_all_outputs<Body>>::values.gradients[first::size] == 3);
}

TEST_CASE("with_all_outputs: without it a head that the loss does not see is an error, with it one of integers is") {
  static_assert(finds<Heads, detail::unused<3, Linear<16, 4>>>);
  static_assert(finds<checkpoint<sqrt_n, Heads>, detail::unused<3, Linear<16, 4>>>);
  static_assert(finds<with_all_outputs<Heads>, detail::nothing_wrong>);
  static_assert(finds<fused_update<with_all_outputs<checkpoint<sqrt_n, Heads>>>, detail::nothing_wrong>);
  static_assert(finds<with_all_outputs<with_input_gradient<Heads>>, detail::nothing_wrong>);
  using Tokens = Sequential<Inputs<dims<8>, integers<4>>, Linear<8, 4>>; // tokens go past the Linear
  static_assert(finds<Tokens, detail::nothing_wrong>);
  static_assert(finds<with_all_outputs<Tokens>, detail::output_without_gradient<Tokens>>);
  using First = Sequential<Heads, testing::First>; // even with it nothing uses the other head
  static_assert(finds<with_all_outputs<First>, detail::unused<3, Linear<16, 4>>>);
}

TEST_CASE("with_all_outputs: it says how a network is trained, and computes the same function") {
  static_assert(std::is_same_v<detail::function_of<with_all_outputs<Heads>>, detail::function_of<Heads>>);
  static_assert(plan<with_all_outputs<checkpoint<sqrt_n, Heads>>>::network_hash == plan<with_all_outputs<Heads>>::network_hash);
  static_assert(plan<with_all_outputs<Body>>::network_hash != plan<Body>::network_hash); // it learns something else
  static_assert(plan<with_input_gradient<with_all_outputs<Heads>>>::gives_input_gradient);
  static_assert(plan<with_all_outputs<with_input_gradient<Heads>>>::all_outputs);
  static_assert(std::is_same_v<detail::without_ways<with_all_outputs<fused_update<Heads>>>::type, Heads>);
}

} // namespace with_all_outputs_tests
