// SPDX-License-Identifier: MIT
// Tests of what the plan knows of a block of several heads. For its values see tests/train/step/judged_by_losses.cpp.
#include <type_traits>

#include <cairn/layer/flatten.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/sum.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/heads.hpp>
#include <cairn/net/with_all_outputs.hpp>
#include <cairn/plan/proof.hpp>
#include <doctest/doctest.h>

#include "../layer/several_layers.hpp"

namespace heads_tests {

using namespace cairn;

namespace {

using Two = multi::Heads<Linear<16, 4>, Sequential<Linear<16, 8>, Tanh, Linear<8, 3>, Tanh>>;
using Net = Sequential<Linear<8, 16>, ReLU, Two>;
template <class Model>
using plan = blueprint_of<Model, 32>;

template <class Model, class Diagnostic>
constexpr bool finds = std::is_same_v<typename detail::network_diagnostic<Model>::type, Diagnostic>;

} // namespace

TEST_CASE("Heads: the tensors of all heads, one after another, each with a gradient") {
  using all = plan<with_all_outputs<Net>>;
  static_assert(all::outputs.count == 2 && all::outputs[0] == tensor{4} && all::outputs[1] == tensor{3});
  static_assert(all::values.gradients[all::size] == 3);
  static_assert(detail::prove<all::size>(all::whole, all::training.ops()));
  static_assert(plan<with_all_outputs<Sequential<Linear<8, 16>, multi::Heads<ReLU>>>>::outputs[0] == tensor{16});
}

TEST_CASE("Heads: a network in which one of them is not used is an error, with all of them it is right") {
  static_assert(finds<with_all_outputs<Net>, detail::nothing_wrong>);
  static_assert(finds<with_all_outputs<checkpoint<sqrt_n, Net>>, detail::nothing_wrong>);
  static_assert(finds<with_all_outputs<Sequential<Linear<8, 16>, checkpoint<recompute_all, Sequential<ReLU, Two>>>>,
                      detail::nothing_wrong>);
  static_assert(finds<Net, detail::unused_head<Two>>);
  static_assert(finds<Sequential<Linear<8, 16>, Residual<Two, Linear<4, 16>>>, detail::unused_head<Two>>);
  static_assert(finds<Sequential<Net, testing::First>, detail::unused_head<Two>>);
  // a layer that takes both
  using Twins = multi::Heads<Linear<16, 4>, Sequential<Linear<16, 4>, Tanh>>;
  static_assert(finds<Sequential<Linear<8, 16>, Twins, testing::Swap, testing::First>, detail::unused_head<Twins>>);
}

TEST_CASE("Heads: what a head may make") {
  using Five = multi::Heads<ReLU, ReLU, ReLU, ReLU, ReLU>;
  static_assert(finds<Sequential<Linear<8, 16>, multi::Heads<>>, detail::wrong_heads<multi::Heads<>>>);
  static_assert(finds<Sequential<Linear<8, 16>, Five>, detail::wrong_heads<Five>>);
  using Empty = multi::Heads<ReLU, Sequential<>>;
  static_assert(finds<Sequential<Linear<8, 16>, Empty>, detail::wrong_heads<Empty>>);
  using Split = multi::Heads<ReLU, testing::Split>; // makes two tensors
  static_assert(finds<with_all_outputs<Sequential<Linear<8, 16>, Split>>, detail::wrong_heads<Split, dims<16>>>);
}

TEST_CASE("Heads: ways to train it compute the same function") {
  using Ways = multi::Heads<Linear<16, 4>, checkpoint<recompute_all, Sequential<Linear<16, 8>, Tanh, Linear<8, 3>, Tanh>>>;
  static_assert(std::is_same_v<detail::function_of<Sequential<Linear<8, 16>, ReLU, Ways>>, detail::function_of<Net>>);
}

} // namespace heads_tests
