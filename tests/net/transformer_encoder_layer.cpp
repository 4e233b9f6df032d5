// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/transformer_encoder_layer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/plan/solve/budget.hpp>
#include <doctest/doctest.h>

#include "planned.hpp"

namespace transformer_encoder_layer_tests {

using namespace cairn;
using attention::causal;
using attention::norm_first;
using testing::names_of;

namespace {

using First = TransformerEncoderLayer<8, 2, 12, norm_first, GELU, causal, Dropout<percent<20>>>;
using Last = TransformerEncoderLayer<8, 4, 12, attention::key_heads<2>, attention::stored_probabilities>;
using Net = Sequential<Input<35, 6>, Linear<6, 8>, Repeat<2, First>, Last, Linear<8, 3>>;

std::vector<std::string> after(const std::string& place, std::vector<std::string> names) {
  for (std::string& name : names) name.insert(0, place);
  return names;
}

// Have two networks the same stages in the same memory?
template <class A, class B>
void same() {
  static_assert(blueprint_of<A, 4>::size == blueprint_of<B, 4>::size);
  static_assert(blueprint_of<A, 4>::parameters == blueprint_of<B, 4>::parameters);
  static_assert(peak_activation_bytes<A, 4> == peak_activation_bytes<B, 4>);
  static_assert(peak_activation_bytes<checkpoint<recompute_all, A>, 4> == peak_activation_bytes<checkpoint<recompute_all, B>, 4>);
}

const std::vector<std::string> names_of_first{"norm1.weight",
                                              "norm1.bias",
                                              "self_attn.in_proj_weight",
                                              "self_attn.in_proj_bias",
                                              "self_attn.out_proj.weight",
                                              "self_attn.out_proj.bias",
                                              "norm2.weight",
                                              "norm2.bias",
                                              "linear1.weight",
                                              "linear1.bias",
                                              "linear2.weight",
                                              "linear2.bias"};
const std::vector<std::string> names_of_last{"self_attn.in_proj_weight",
                                             "self_attn.in_proj_bias",
                                             "self_attn.out_proj.weight",
                                             "self_attn.out_proj.bias",
                                             "norm1.weight",
                                             "norm1.bias",
                                             "linear1.weight",
                                             "linear1.bias",
                                             "linear2.weight",
                                             "linear2.bias",
                                             "norm2.weight",
                                             "norm2.bias"};

} // namespace

TEST_CASE_TEMPLATE("TransformerEncoderLayer: every policy has the bits of the plain layers", Policy, store_all, recompute_all,
                   sqrt_n, recompute_cheap, budget_fraction<60>) {
  testing::check_step<checkpoint<Policy, Net>, 3, float>();
  if constexpr (testing::long_tests || std::is_same_v<Policy, sqrt_n>) testing::check_step<checkpoint<Policy, Net>, 2, double>();
}

TEST_CASE("TransformerEncoderLayer: it is the residual blocks and norms of its comment") {
  using Written =
      Sequential<Input<9, 8>, Residual<LayerNorm<8>, MultiheadAttention<8, 2, causal>, Dropout<percent<20>>>,
                 Residual<LayerNorm<8>, Linear<8, 12>, GELU, Dropout<percent<20>>, Linear<12, 8>, Dropout<percent<20>>>>;
  using WrittenLast = Sequential<Input<9, 8>, Residual<MultiheadAttention<8, 2>>, LayerNorm<8>,
                                 Residual<Linear<8, 12>, ReLU, Linear<12, 8>>, LayerNorm<8>>;
  same<Sequential<Input<9, 8>, First>, Written>();
  same<Sequential<Input<9, 8>, TransformerEncoderLayer<8, 2, 12>>, WrittenLast>();
}

TEST_CASE("TransformerEncoderLayer: it takes one place in names, with torch's names of its parameters") {
  CHECK(names_of<Sequential<Input<6, 8>, First>>() == after("0.", names_of_first));
  CHECK(names_of<Sequential<Input<6, 8>, Last>>() == after("0.", names_of_last));
  CHECK(names_of<checkpoint<budget_fraction<80>, Sequential<Input<6, 8>, First>>>() == after("0.", names_of_first));
  std::vector<std::string> all{"0.weight", "0.bias"};
  for (const char* const place : {"1.", "2."})
    for (const std::string& name : after(place, names_of_first)) all.push_back(name);
  for (const std::string& name : after("3.", names_of_last)) all.push_back(name);
  all.insert(all.end(), {"4.weight", "4.bias"});
  CHECK(names_of<Net>() == all);
  std::vector<std::string> nested = after("0.0.", names_of_last);
  nested.insert(nested.end(), {"1.weight", "1.bias"});
  CHECK(names_of<Sequential<Input<6, 8>, Sequential<Last>, Linear<8, 3>>>() == nested);
}

TEST_CASE("TransformerEncoderLayer: options are found in any order") {
  using detail::made_of;
  using a = made_of<TransformerEncoderLayer<8, 2, 12, GELU, norm_first, causal>>;
  using b = made_of<TransformerEncoderLayer<8, 2, 12, causal, GELU, norm_first>>;
  static_assert(std::is_same_v<a::parts, b::parts>);
  static_assert(!std::is_same_v<a::parts, made_of<TransformerEncoderLayer<8, 2, 12, GELU, norm_first>>::parts>);
  using other = attention::norm<LayerNorm<8, fraction{1, 1000}>>;
  using c = made_of<TransformerEncoderLayer<8, 2, 12, other>>;
  static_assert(
      std::is_same_v<detail::pack_element<1, c::parts>, detail::named_part<detail::norm1, LayerNorm<8, fraction{1, 1000}>>>);
  static_assert(c::is_right && !made_of<TransformerEncoderLayer<8, 2, 12, other, other>>::is_right);
  static_assert(!made_of<TransformerEncoderLayer<8, 2, 12, GELU, ReLU>>::is_right);
  static_assert(!made_of<TransformerEncoderLayer<8, 3, 12>>::is_right && !made_of<TransformerEncoderLayer<8, 2, 0>>::is_right);
  static_assert(!made_of<TransformerEncoderLayer<8, 2, 12, causal, attention::full>>::is_right);
}

} // namespace transformer_encoder_layer_tests
