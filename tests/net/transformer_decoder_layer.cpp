// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/net/transformer_decoder_layer.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/layer/dropout.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/net/repeat.hpp>
#include <doctest/doctest.h>

#include "planned.hpp"

namespace transformer_decoder_layer_tests {

using namespace cairn;
using attention::causal;
using attention::cross;
using attention::norm_first;
using testing::names_of;

namespace {

using First = TransformerDecoderLayer<8, 2, 12, norm_first, GELU, causal, Dropout<percent<20>>>;
using Last = TransformerDecoderLayer<8, 4, 12, attention::key_heads<2>>;
using Both = Inputs<dims<5, 8>, dims<7, 8>>;

std::vector<std::string> after_place(std::vector<std::string> names) {
  for (std::string& name : names) name.insert(0, "0.");
  return names;
}

// Have two networks the same stages in the same memory?
template <class A, class B>
void same() {
  static_assert(blueprint_of<A, 4>::size == blueprint_of<B, 4>::size);
  static_assert(blueprint_of<A, 4>::parameters == blueprint_of<B, 4>::parameters);
  static_assert(peak_activation_bytes<A, 4> == peak_activation_bytes<B, 4>);
}

} // namespace

TEST_CASE_TEMPLATE("TransformerDecoderLayer: every policy has the bits of the plain layers", Policy, store_all, recompute_all,
                   sqrt_n) {
  testing::check_step<checkpoint<Policy, Sequential<Both, Linear<8, 8>, Repeat<2, First>, Last, Linear<8, 3>>>, 3, float>();
}

TEST_CASE("TransformerDecoderLayer: it is the residual blocks and norms of its comment") {
  using Drop = Dropout<percent<20>>;
  using Written = Sequential<Both, Residual<LayerNorm<8>, MultiheadAttention<8, 2, causal>, Drop>,
                             Residual<LayerNorm<8>, MultiheadAttention<8, 2, cross>, Drop>,
                             Residual<LayerNorm<8>, Linear<8, 12>, GELU, Drop, Linear<12, 8>, Drop>>;
  using WrittenLast =
      Sequential<Both, Residual<MultiheadAttention<8, 2>>, LayerNorm<8>, Residual<MultiheadAttention<8, 2, cross>>, LayerNorm<8>,
                 Residual<Linear<8, 12>, ReLU, Linear<12, 8>>, LayerNorm<8>>;
  same<Sequential<Both, First>, Written>();
  same<Sequential<Both, TransformerDecoderLayer<8, 2, 12>>, WrittenLast>();
}

TEST_CASE("TransformerDecoderLayer: it takes one place in names, with torch's names of its parameters") {
  const std::vector<std::string> self{"self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
                                      "self_attn.out_proj.bias"},
      other{"multihead_attn.in_proj_weight", "multihead_attn.in_proj_bias", "multihead_attn.out_proj.weight",
            "multihead_attn.out_proj.bias"},
      linears{"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"};
  const auto joined = [](const std::vector<std::vector<std::string>>& all) {
    std::vector<std::string> out;
    for (const auto& some : all) out.insert(out.end(), some.begin(), some.end());
    return after_place(out);
  };
  const auto norm = [](const char* n) {
    return std::vector<std::string>{std::string("norm") + n + ".weight", std::string("norm") + n + ".bias"};
  };
  CHECK(names_of<Sequential<Both, First>>() == joined({norm("1"), self, norm("2"), other, norm("3"), linears}));
  CHECK(names_of<Sequential<Both, Last>>() == joined({self, norm("1"), other, norm("2"), linears, norm("3")}));
}

TEST_CASE("TransformerDecoderLayer: its options are the encoder's, and masks of the memory") {
  using detail::made_of;
  using a = made_of<TransformerDecoderLayer<8, 2, 12, GELU, norm_first, causal>>;
  using b = made_of<TransformerDecoderLayer<8, 2, 12, causal, GELU, norm_first>>;
  static_assert(std::is_same_v<a::parts, b::parts> && a::is_right);
  static_assert(!std::is_same_v<a::parts, made_of<TransformerDecoderLayer<8, 2, 12, GELU, norm_first>>::parts>);
  static_assert(made_of<Last>::looks_up::options::key_heads == 2); // of both attentions, and the mask of the first only
  static_assert(made_of<First>::looks_up::options::band.after == ops::most_keys);
  using memory = attention::memory<attention::key_lengths, attention::window<3>>;
  using c = made_of<TransformerDecoderLayer<8, 2, 12, memory, causal, attention::dropout<percent<10>>>>;
  static_assert(c::is_right && c::attends::options::drops && !c::attends::options::has_lengths);
  static_assert(c::looks_up::options::drops && c::looks_up::options::has_lengths && c::looks_up::options::band.before == 2);
  static_assert(!made_of<TransformerDecoderLayer<8, 2, 12, memory, attention::memory<>>>::is_right);
  static_assert(!made_of<TransformerDecoderLayer<8, 2, 12, attention::memory<attention::stored_probabilities>>>::is_right);
  static_assert(!made_of<TransformerEncoderLayer<8, 2, 12, memory>>::is_right);
  static_assert(!made_of<TransformerDecoderLayer<8, 2, 12, GELU, ReLU>>::is_right);
  static_assert(!made_of<TransformerDecoderLayer<8, 3, 12>>::is_right && !made_of<TransformerDecoderLayer<8, 2, 0>>::is_right);
}

} // namespace transformer_decoder_layer_tests
