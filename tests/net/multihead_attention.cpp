// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/multihead_attention.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/nesting.hpp>
#include <doctest/doctest.h>

#include "planned.hpp"

namespace multihead_attention_tests {

using namespace cairn;
using attention::causal;
using attention::key_heads;
using attention::window;
using testing::names_of;

namespace {

using Net = Sequential<Input<33, 6>, Linear<6, 8>, Residual<LayerNorm<8>, MultiheadAttention<8, 2, causal>>,
                       MultiheadAttention<8, 4, key_heads<2>, window<5>, attention::dropout<percent<30>>>, Dropout<percent<20>>,
                       Repeat<2, Residual<LayerNorm<8>, MultiheadAttention<8, 1>, LayerNorm<8>>>, Linear<8, 3>>;
template <class Policy>
using Model = checkpoint<Policy, Net>;

} // namespace

TEST_CASE_TEMPLATE("MultiheadAttention: every policy has the bits of the plain layers", Policy, store_all, recompute_all,
                   every<2>, sqrt_n, revolve<2>, recompute_cheap) {
  testing::check_step<Model<Policy>, 3, float>();
  if constexpr (testing::long_tests || std::is_same_v<Policy, sqrt_n>) testing::check_step<Model<Policy>, 2, double>();
}

TEST_CASE("MultiheadAttention: the only layer, one token, frozen, and a checkpoint between its stages") {
  testing::check_step<Sequential<Input<3, 4>, MultiheadAttention<4, 2>>, 5, float>();
  testing::check_step<Sequential<Input<3, 4>, MultiheadAttention<4, 2, causal>, MultiheadAttention<4, 1, causal>>, 5, float>();
  testing::check_step<Sequential<Input<1, 4>, MultiheadAttention<4, 2, causal>, Linear<4, 4>>, 5, float>();
  testing::check_step<Sequential<Input<5, 4>, Linear<4, 4>, frozen<MultiheadAttention<4, 2>>, Linear<4, 4>>, 5, float>();
  testing::check_step<checkpoint<at<2>, Sequential<Input<5, 4>, MultiheadAttention<4, 2>, Linear<4, 4>>>, 5, float>();
}

TEST_CASE_TEMPLATE("MultiheadAttention: stored probabilities are a tape like any other", Policy, store_all, recompute_all, sqrt_n,
                   recompute_cheap) {
  using attention::stored_probabilities;
  using Stored =
      Sequential<Input<33, 6>, Linear<6, 8>, Residual<LayerNorm<8>, MultiheadAttention<8, 2, causal, stored_probabilities>>,
                 MultiheadAttention<8, 4, key_heads<2>, stored_probabilities, window<5>>, Linear<8, 3>>;
  testing::check_step<checkpoint<Policy, Stored>, 3, float>();
}

TEST_CASE("MultiheadAttention: its stages are stages of the chain around it") {
  using b = blueprint_of<Sequential<Input<6, 8>, MultiheadAttention<8, 2, causal>, GELU>, 4>;
  static_assert(b::size == 5 && b::output_shape == shape{6, 8});
  static_assert(b::parameters == 4 * 8 * 8 + 4 * 8);
  static_assert(b::stages[2].tape.at(4) == 4 * 2 * 6 * sizeof(float)); // one number for each token and head
  using stored = blueprint_of<Sequential<Input<6, 8>, MultiheadAttention<8, 2, causal, attention::stored_probabilities>>, 4>;
  static_assert(stored::stages[2].tape.at(4) == 4 * 2 * 6 * 6 * sizeof(float));
  // With as few key heads as one.
  using g = blueprint_of<Sequential<Input<6, 8>, MultiheadAttention<8, 4, key_heads<1>>>, 4>;
  static_assert(g::parameters == (8 + 2 * 2) * (8 + 1) + 8 * (8 + 1));
}

TEST_CASE("MultiheadAttention: it takes one place in names, with torch's names of its parameters") {
  CHECK(names_of<Sequential<Input<6, 8>, Linear<8, 8>, MultiheadAttention<8, 2>, LayerNorm<8>>>() ==
        std::vector<std::string>{"0.weight", "0.bias", "1.in_proj_weight", "1.in_proj_bias", "1.out_proj.weight",
                                 "1.out_proj.bias", "2.weight", "2.bias"});
  CHECK(names_of<Sequential<Input<6, 8>, Residual<LayerNorm<8>, Sequential<MultiheadAttention<8, 2>>>>>() ==
        std::vector<std::string>{"0.0.weight", "0.0.bias", "0.1.0.in_proj_weight", "0.1.0.in_proj_bias", "0.1.0.out_proj.weight",
                                 "0.1.0.out_proj.bias"});
  CHECK(names_of<Sequential<Input<6, 8>, Repeat<2, MultiheadAttention<8, 2>>>>() ==
        std::vector<std::string>{"0.in_proj_weight", "0.in_proj_bias", "0.out_proj.weight", "0.out_proj.bias", "1.in_proj_weight",
                                 "1.in_proj_bias", "1.out_proj.weight", "1.out_proj.bias"});
  const std::vector<std::string> alone{"0.in_proj_weight", "0.in_proj_bias", "0.out_proj.weight", "0.out_proj.bias"};
  CHECK(names_of<Sequential<Input<6, 8>, MultiheadAttention<8, 2>>>() == alone);
  CHECK(names_of<checkpoint<recompute_all, Sequential<Input<6, 8>, MultiheadAttention<8, 2>>>>() == alone);
  CHECK(names_of<Sequential<Input<6, 8>, checkpoint<recompute_all, MultiheadAttention<8, 2>>>>() == alone);
  CHECK(names_of<Sequential<Input<6, 8>, checkpoint<recompute_all, Sequential<MultiheadAttention<8, 2>>>>>()[0] ==
        "0.0.in_proj_weight");
  static_assert(detail::places_of<MultiheadAttention<8, 2>>() == 1);
  static_assert(detail::places_of<Repeat<3, MultiheadAttention<8, 2>>>() == 3);
  CHECK(detail::nesting<Sequential<GELU, Sequential<MultiheadAttention<8, 2>>>>::value == ".([...])");
}

TEST_CASE("MultiheadAttention: parameters begin as torch's") {
  const auto plan = testing::plan<Sequential<Input<6, 64>, MultiheadAttention<64, 4, key_heads<2>>>, 2, double>();
  std::vector<double> parameters(plan.parameters), buffers(plan.buffers);
  const std::span<double> all(parameters), none(buffers);
  detail::initialize(*plan.code, all, none, seed{3});
  std::vector<double> most;
  detail::for_each_parameter(*plan.code, all, none, [&](const types::named_parameter<double>& p) {
    most.push_back(0);
    for (const double x : p.numbers) most.back() = std::max(most.back(), std::fabs(x));
  });
  REQUIRE(most.size() == 4);
  // Xavier's bound for 64 columns and 64 + 2 * 32 rows, and a Linear's.
  CHECK((most[0] <= std::sqrt(6.0 / (64 + 128)) && most[0] > 0.99 * std::sqrt(6.0 / (64 + 128))));
  CHECK((most[2] <= 1 / 8.0 && most[2] > 0.99 / 8));
  CHECK((most[1] == 0 && most[3] == 0));
}

TEST_CASE("MultiheadAttention: it is its own function, whatever the policy around it") {
  using Plain = Sequential<Input<6, 8>, MultiheadAttention<8, 2>, GELU>;
  using Planned = checkpoint<sqrt_n, Sequential<Input<6, 8>, checkpoint<recompute_all, MultiheadAttention<8, 2>>, GELU>>;
  static_assert(std::is_same_v<detail::function_of<Plain>, detail::function_of<Planned>>);
  using Causal = Sequential<Input<6, 8>, MultiheadAttention<8, 2, causal>, GELU>;
  static_assert(!std::is_same_v<detail::function_of<Plain>, detail::function_of<Causal>>);
}

} // namespace multihead_attention_tests
