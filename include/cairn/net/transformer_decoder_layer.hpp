// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/cross_attention.hpp>
#include <cairn/net/made_of.hpp>
#include <cairn/net/named_part.hpp>
#include <cairn/net/residual.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>

namespace cairn {

// A layer of a transformer's decoder, as torch.nn.TransformerDecoderLayer(C, Heads, Feedforward, batch_first=True)(x, memory):
// self-attention, attention to the memory, then two Linears, each inside a residual sum with a norm. It takes (Tq, C) and the
// memory (Tk, C), and makes (Tq, C); the memory stays beside it for the next layer.
//
// The options are those of TransformerEncoderLayer, in any order. A mask is that of the self-attention: a decoder that writes a
// text needs attention::causal. Masks of the attention to the memory are given together, as
// attention::memory<attention::key_lengths>. attention::key_heads<N> and attention::dropout<P> hold for both attentions.
//
// It is a part of the chain around it, as the encoder's layer, and takes one place in names. Its parameters have torch's names:
// self_attn.in_proj_weight, multihead_attn.out_proj.bias, linear1.weight, linear2.weight, norm1.weight to norm3.weight and so on.
template <std::size_t C, std::size_t Heads, std::size_t Feedforward, class... Options>
struct TransformerDecoderLayer {};

} // namespace cairn

namespace cairn::attention {

// Option of TransformerDecoderLayer: masks of the attention to the memory, as in MultiheadAttention<C, Heads, attention::cross,
// Options...>. attention::key_lengths are the numbers of the memory's tokens, the network's last integer_constant<>.
template <class... Options>
struct memory {};

} // namespace cairn::attention

namespace cairn::detail {

template <class... Options>
struct read_encoder_option<attention::memory<Options...>> {
  static constexpr encoder_option kind = encoder_option::memory;
};

// The names of its parts that an encoder's layer does not have.
struct multihead_attn {
  static constexpr std::string_view text = "multihead_attn";
};
struct norm3 {
  static constexpr std::string_view text = "norm3";
};

// The options of the self-attention that hold for the attention to the memory too.
template <class Found, class... Options>
struct shared_attention_options {
  using type = Found;
};
template <class... Found, class First, class... Rest>
struct shared_attention_options<pack<Found...>, First, Rest...>
    : std::conditional_t<(key_heads_of<First> > 0 || is_attention_dropout<First>),
                         shared_attention_options<pack<Found..., First>, Rest...>,
                         shared_attention_options<pack<Found...>, Rest...>> {};

// The attention to the memory, with its own options and the shared ones.
template <std::size_t C, std::size_t Heads, class Shared, class Own>
struct memory_attention;
template <std::size_t C, std::size_t Heads, class... Shared>
struct memory_attention<C, Heads, pack<Shared...>, pack<>>
    : type_of<made_of<MultiheadAttention<C, Heads, attention::cross, Shared...>>> {};
template <std::size_t C, std::size_t Heads, class... Shared, class... Own>
struct memory_attention<C, Heads, pack<Shared...>, pack<attention::memory<Own...>>>
    : type_of<made_of<MultiheadAttention<C, Heads, attention::cross, Own..., Shared...>>> {};
template <std::size_t C, std::size_t Heads, class Shared, class A, class B, class... Rest>
struct memory_attention<C, Heads, Shared, pack<A, B, Rest...>> : memory_attention<C, Heads, Shared, pack<A>> {};

template <std::size_t C, std::size_t Heads, class OfSelf, class OfMemory>
struct decoder_attention;
template <std::size_t C, std::size_t Heads, class... OfSelf, class OfMemory>
struct decoder_attention<C, Heads, pack<OfSelf...>, OfMemory>
    : memory_attention<C, Heads, typename shared_attention_options<pack<>, OfSelf...>::type, OfMemory> {};

struct transformer_decoder_layer_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(
        is_right<Wrong>,
        "TransformerDecoderLayer: its number of heads divides its width, and each option is given once: "
        "attention::norm_first, attention::norm<Layer>, Dropout<...>, an activation, a mask, attention::key_heads<N>, "
        "attention::added_mask, attention::key_lengths, attention::dropout<P> and attention::memory<masks of the memory>; "
        "write TransformerDecoderLayer<128, 4, 512, attention::norm_first, GELU, attention::causal>; see "
        "wrong_transformer_decoder_layer<type>");
    return false;
  }
};

// A TransformerDecoderLayer with invalid template arguments.
template <class Layer>
struct wrong_transformer_decoder_layer : transformer_decoder_layer_message {};

template <std::size_t C, std::size_t Heads, std::size_t Feedforward, class... Options>
struct made_of<TransformerDecoderLayer<C, Heads, Feedforward, Options...>> {
  using layer_type = TransformerDecoderLayer<C, Heads, Feedforward, Options...>;
  template <encoder_option Kind>
  using given = typename encoder_options_of<Kind, pack<>, Options...>::type;
  using attends = encoder_attention<C, Heads, given<encoder_option::attention>>;
  using looks_up = typename decoder_attention<C, Heads, given<encoder_option::attention>, given<encoder_option::memory>>::type;

  static constexpr part_kind as = part_kind::sequence;
  static constexpr std::size_t times = 1;
  static constexpr std::string_view name = "TransformerDecoderLayer";
  static constexpr bool takes_one_place = true;
  static constexpr bool is_right = encoder_options_are_right<attends, Feedforward, Options...>() &&
                                   is_given_once<encoder_option::memory, Options...> && looks_up::is_right;
  using wrong = wrong_transformer_decoder_layer<layer_type>;

private:
  using normalizes = typename encoder_layer_of<LayerNorm<C>, given<encoder_option::norm>>::type;
  using first_norm = named_part<norm1, normalizes>;
  using second_norm = named_part<norm2, normalizes>;
  using third_norm = named_part<norm3, normalizes>;
  using activation = typename encoder_layer_of<ReLU, given<encoder_option::activation>>::type;
  using in = named_part<self_attn, pack_element<0, typename attends::parts>>;
  using core = pack_element<1, typename attends::parts>;
  using out = named_part<self_attn, pack_element<2, typename attends::parts>>;
  using cross_in = named_part<multihead_attn, pack_element<0, typename looks_up::parts>>;
  using cross_core = pack_element<1, typename looks_up::parts>;
  using cross_out = named_part<multihead_attn, pack_element<2, typename looks_up::parts>>;
  using up = named_part<linear1, Linear<C, Feedforward>>;
  using down = named_part<linear2, Linear<Feedforward, C>>;

  template <class Drops>
  struct blocks;
  template <class... Drops>
  struct blocks<pack<Drops...>> {
    using norm_first =
        pack<Residual<first_norm, in, core, out, Drops...>, Residual<second_norm, cross_in, cross_core, cross_out, Drops...>,
             Residual<third_norm, up, activation, Drops..., down, Drops...>>;
    using norm_last = pack<Residual<in, core, out, Drops...>, first_norm, Residual<cross_in, cross_core, cross_out, Drops...>,
                           second_norm, Residual<up, activation, Drops..., down, Drops...>, third_norm>;
  };
  using all = blocks<given<encoder_option::dropout>>;

public:
  using parts = std::conditional_t<given<encoder_option::order>::size != 0, typename all::norm_first, typename all::norm_last>;
  template <class...>
  using with = layer_type; // its parts follow from its arguments
};

} // namespace cairn::detail
