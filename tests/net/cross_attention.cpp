// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/cross_attention.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gradient_check.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <doctest/doctest.h>

#include "../layer/given.hpp"
#include "../layer/several_layers.hpp"
#include "planned.hpp"

namespace cross_attention_tests {

using namespace cairn;
using attention::causal;
using attention::cross;
using attention::cross_in_proj;
using attention::key_heads;
using testing::names_of;

namespace {

using Attends = Residual<LayerNorm<8>, MultiheadAttention<8, 2, cross>>;
using Net = Sequential<Inputs<dims<5, 8>, dims<7, 8>>, Linear<8, 8>,
                       Repeat<2, Sequential<Attends, Residual<MultiheadAttention<8, 2, causal>>>>,
                       Residual<MultiheadAttention<8, 4, cross, key_heads<2>, causal>, Dropout<percent<20>>>, Linear<8, 3>>;
template <class Policy>
using Model = checkpoint<Policy, Net>;

using In = cross_in_proj<8, 24>;

} // namespace

static_assert(layer<In> && In::accepts(given{{5, 8}, {7, 8}}) && !In::accepts(given{{5, 8}, {7, 6}}));
static_assert(!In::accepts(given{{5, 8}, {8}}) && !In::accepts(given{{8}, {5, 8}}));
static_assert(In::outputs(given{{5, 8}, {7, 8}}) == tensor_list{{5, 8}, {7, 16}, {7, 8}});

TEST_CASE("cross_in_proj: gradients, where some outputs are not used too") {
  CHECK(gradient_fault<cross_in_proj<3, 9>>({{4, 3}, {2, 3}}) == "");
  CHECK(gradient_fault<cross_in_proj<4, 8>>({{1, 4}, {3, 4}}) == ""); // fewer key heads
}

TEST_CASE_TEMPLATE("attention::cross: every policy has the bits of the plain layers", Policy, store_all, recompute_all, every<2>,
                   sqrt_n, recompute_cheap, budget_fraction<70>) {
  testing::check_step<Model<Policy>, 3, float>();
  if constexpr (testing::long_tests || std::is_same_v<Policy, sqrt_n>) testing::check_step<Model<Policy>, 2, double>();
}

TEST_CASE("attention::cross: the only layer, frozen, in a checkpoint inside, and a memory that is made by layers") {
  using Both = Inputs<dims<3, 4>, dims<5, 4>>;
  testing::check_step<Sequential<Both, MultiheadAttention<4, 2, cross>>, 5, float>();
  testing::check_step<Sequential<Both, MultiheadAttention<4, 2, cross>, MultiheadAttention<4, 1, cross, causal>>, 5, float>();
  testing::check_step<Sequential<Both, Linear<4, 4>, frozen<MultiheadAttention<4, 2, cross>>, Linear<4, 4>>, 5, float>();
  testing::check_step<Sequential<Both, Linear<4, 4>, checkpoint<recompute_all, MultiheadAttention<4, 2, cross>>, Linear<4, 4>>, 5,
                      float>();
  // The first layers make the memory, and the others what asks.
  testing::check_step<Sequential<Both, Residual<Linear<4, 4>>, testing::Swap, Linear<4, 4>, MultiheadAttention<4, 2, cross>>, 5,
                      float>();
}

TEST_CASE("attention::cross: its stages are stages of the chain around it, and the memory has its gradient of all layers") {
  using b = blueprint_of<Sequential<Inputs<dims<5, 8>, dims<7, 8>>, MultiheadAttention<8, 2, cross>, Linear<8, 3>>, 4>;
  static_assert(b::size == 5 && b::output_shape == shape{5, 3});
  static_assert(b::parameters == 4 * 8 * 8 + 4 * 8 + 3 * 9);
  static_assert(b::stages[2].tape.at(4) == detail::align_up(4 * 2 * 5 * sizeof(float)));
  // Nobody uses the memory after the last attention, so it has no gradient there.
  static_assert(b::values.gradients[2] == 3 && b::values.gradients[1] == 3);
  using g = blueprint_of<Sequential<Inputs<dims<5, 8>, dims<7, 8>>, MultiheadAttention<8, 4, cross, key_heads<1>>>, 4>;
  static_assert(g::parameters == (8 + 2 * 2) * (8 + 1) + 8 * (8 + 1));
  using two =
      blueprint_of<Sequential<Inputs<dims<5, 8>, dims<7, 8>>, MultiheadAttention<8, 2, cross>, MultiheadAttention<8, 2, cross>>,
                   4>;
  static_assert(two::values.gradients[2] == 7 && two::values.gradients[5] == 3);
}

TEST_CASE("attention::cross: it takes one place in names, with torch's names of its parameters") {
  CHECK(names_of<Sequential<Inputs<dims<5, 8>, dims<7, 8>>, Linear<8, 8>, MultiheadAttention<8, 2, cross>, Linear<8, 3>>>() ==
        std::vector<std::string>{"0.weight", "0.bias", "1.in_proj_weight", "1.in_proj_bias", "1.out_proj.weight",
                                 "1.out_proj.bias", "2.weight", "2.bias"});
}

TEST_CASE("attention::cross: it is its own function, whatever the policy around it") {
  using Both = Inputs<dims<3, 4>, dims<5, 4>>;
  using Plain = Sequential<Both, MultiheadAttention<4, 2, cross>>;
  static_assert(std::is_same_v<detail::function_of<Plain>,
                               detail::function_of<Sequential<Both, checkpoint<sqrt_n, MultiheadAttention<4, 2, cross>>>>>);
  static_assert(!std::is_same_v<detail::function_of<Plain>,
                                detail::function_of<Sequential<Both, MultiheadAttention<4, 2, cross, causal>>>>);
  using detail::made_of;
  static_assert(made_of<MultiheadAttention<4, 2, cross, key_heads<1>>>::is_right);
  static_assert(!made_of<MultiheadAttention<4, 3, cross>>::is_right && !made_of<MultiheadAttention<4, 0, cross>>::is_right);
  static_assert(!made_of<MultiheadAttention<4, 2, cross, cross>>::is_right);
  static_assert(!made_of<MultiheadAttention<4, 2, causal, cross>>::is_right); // it is the first option
  static_assert(!made_of<MultiheadAttention<4, 2, cross, causal, attention::full>>::is_right);
}

} // namespace cross_attention_tests
