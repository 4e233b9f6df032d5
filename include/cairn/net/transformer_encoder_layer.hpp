// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/fraction.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/attention_options.hpp>
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/multihead_attention.hpp>
#include <cairn/net/named_part.hpp>
#include <cairn/net/residual.hpp>

namespace cairn {

// A layer of a transformer, as torch.nn.TransformerEncoderLayer(C, Heads, Feedforward, batch_first=True): self-attention, then
// two Linears, each inside a residual sum with a norm. (T, C) becomes (T, C). The options, in any order:
//
//   attention::norm_first       the norms are before the attention and the Linears, as in GPT-2; without it after the sums, as in
//                               BERT (Xiong et al.: On layer normalization in the transformer architecture. arXiv:2002.04745)
//   GELU, ...                   an activation layer between the Linears in place of ReLU
//   Dropout<percent<10>>        before each residual sum and after the activation; without it there is none
//   attention::dropout<percent<10>>  of attention probabilities. torch's dropout, 0.1 by default, is both
//   attention::causal, ...      a mask, key_heads<N>, added_mask, key_lengths, stored_probabilities, as in MultiheadAttention
//   attention::norm<RMSNorm<C>> another norm than LayerNorm<C>
//
// It is a part of the chain around it: two Residuals, and two norms if they are last, so that policies and budgets see the layers
// inside. It takes one place in names, and its parameters have torch's names: self_attn.in_proj_weight, self_attn.out_proj.bias,
// linear1.weight, linear2.weight, norm1.weight, norm2.weight and so on.
template <std::size_t C, std::size_t Heads, std::size_t Feedforward, class... Options>
struct TransformerEncoderLayer {};

} // namespace cairn

namespace cairn::attention {

// Option of TransformerEncoderLayer: norms before the attention and the Linears.
struct norm_first {};

// Option of TransformerEncoderLayer: the layer that normalizes.
template <class Layer>
struct norm {};

} // namespace cairn::attention

namespace cairn::detail {

// The names of its parts, as torch has them.
struct self_attn {
  static constexpr std::string_view text = "self_attn";
};
struct linear1 {
  static constexpr std::string_view text = "linear1";
};
struct linear2 {
  static constexpr std::string_view text = "linear2";
};
struct norm1 {
  static constexpr std::string_view text = "norm1";
};
struct norm2 {
  static constexpr std::string_view text = "norm2";
};

// The kinds of options, of which each is given once at most, but those of the attention. `memory` is for a decoder.
enum class encoder_option : unsigned char { order, norm, dropout, attention, activation, memory };

template <class Option>
struct read_encoder_option {
  static constexpr encoder_option kind = attention_option<Option> ? encoder_option::attention : encoder_option::activation;
  using layer = Option;
};
template <>
struct read_encoder_option<attention::norm_first> {
  static constexpr encoder_option kind = encoder_option::order;
};
template <class Layer>
struct read_encoder_option<attention::norm<Layer>> {
  static constexpr encoder_option kind = encoder_option::norm;
  using layer = Layer;
};
template <auto Probability>
struct read_encoder_option<Dropout<Probability>> {
  static constexpr encoder_option kind = encoder_option::dropout;
};

// The options of one kind.
template <encoder_option Kind, class Found, class... Options>
struct encoder_options_of {
  using type = Found;
};
template <encoder_option Kind, class... Found, class First, class... Rest>
struct encoder_options_of<Kind, pack<Found...>, First, Rest...>
    : std::conditional_t<read_encoder_option<First>::kind == Kind, encoder_options_of<Kind, pack<Found..., First>, Rest...>,
                         encoder_options_of<Kind, pack<Found...>, Rest...>> {};

// The layer of an option, or Default without the option.
template <class Default, class Found>
struct encoder_layer_of : type_of<Default> {};
template <class Default, class First, class... Rest>
struct encoder_layer_of<Default, pack<First, Rest...>> : type_of<typename read_encoder_option<First>::layer> {};

// The attention with those of its options.
template <std::size_t C, std::size_t Heads, class Found>
struct encoder_attention;
template <std::size_t C, std::size_t Heads, class... Options>
struct encoder_attention<C, Heads, pack<Options...>> : made_of<MultiheadAttention<C, Heads, Options...>> {};

// Is there at most one option of this kind?
template <encoder_option Kind, class... Options>
inline constexpr bool is_given_once = encoder_options_of<Kind, pack<>, Options...>::type::size < 2;

// Are all but those of a decoder's memory right?
template <class Attention, std::size_t Feedforward, class... Options>
constexpr bool encoder_options_are_right() {
  return Attention::is_right && Feedforward > 0 && is_given_once<encoder_option::order, Options...> &&
         is_given_once<encoder_option::norm, Options...> && is_given_once<encoder_option::dropout, Options...> &&
         is_given_once<encoder_option::activation, Options...>;
}

struct transformer_encoder_layer_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "TransformerEncoderLayer: its number of heads divides its width, and each option is given once: "
                  "attention::norm_first, attention::norm<Layer>, Dropout<...>, an activation, a mask, attention::key_heads<N>, "
                  "attention::added_mask, attention::key_lengths and attention::dropout<P>, or attention::stored_probabilities; "
                  "write TransformerEncoderLayer<128, 4, 512, attention::norm_first, GELU, attention::causal>; see "
                  "wrong_transformer_encoder_layer<type>");
    return false;
  }
};

// A TransformerEncoderLayer with invalid template arguments.
template <class Layer>
struct wrong_transformer_encoder_layer : transformer_encoder_layer_message {};

template <std::size_t C, std::size_t Heads, std::size_t Feedforward, class... Options>
struct made_of<TransformerEncoderLayer<C, Heads, Feedforward, Options...>> {
  using layer_type = TransformerEncoderLayer<C, Heads, Feedforward, Options...>;
  template <encoder_option Kind>
  using given = typename encoder_options_of<Kind, pack<>, Options...>::type;
  using attends = encoder_attention<C, Heads, given<encoder_option::attention>>;

  static constexpr part_kind as = part_kind::sequence;
  static constexpr std::size_t times = 1;
  static constexpr std::string_view name = "TransformerEncoderLayer";
  static constexpr bool takes_one_place = true;
  static constexpr bool is_right =
      encoder_options_are_right<attends, Feedforward, Options...>() && given<encoder_option::memory>::size == 0;
  using wrong = wrong_transformer_encoder_layer<layer_type>;

private:
  using normalizes = typename encoder_layer_of<LayerNorm<C>, given<encoder_option::norm>>::type;
  using first_norm = named_part<norm1, normalizes>;
  using second_norm = named_part<norm2, normalizes>;
  using activation = typename encoder_layer_of<ReLU, given<encoder_option::activation>>::type;
  using in = named_part<self_attn, pack_element<0, typename attends::parts>>;
  using core = pack_element<1, typename attends::parts>;
  using out = named_part<self_attn, pack_element<2, typename attends::parts>>;
  using up = named_part<linear1, Linear<C, Feedforward>>;
  using down = named_part<linear2, Linear<Feedforward, C>>;

  template <class Drops>
  struct blocks;
  template <class... Drops>
  struct blocks<pack<Drops...>> {
    using norm_first =
        pack<Residual<first_norm, in, core, out, Drops...>, Residual<second_norm, up, activation, Drops..., down, Drops...>>;
    using norm_last =
        pack<Residual<in, core, out, Drops...>, first_norm, Residual<up, activation, Drops..., down, Drops...>, second_norm>;
  };
  using both = blocks<given<encoder_option::dropout>>;

public:
  using parts = std::conditional_t<given<encoder_option::order>::size != 0, typename both::norm_first, typename both::norm_last>;
  template <class...>
  using with = layer_type; // its parts follow from its arguments
};

} // namespace cairn::detail
