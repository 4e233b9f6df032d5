// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/core/fraction.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/layer/attention_options.hpp>
#include <cairn/layer/embedding.hpp>
#include <cairn/layer/gelu.hpp>
#include <cairn/layer/inputs.hpp>
#include <cairn/layer/layer_norm.hpp>
#include <cairn/layer/learned_positions.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/started.hpp>
#include <cairn/layer/sum.hpp>
#include <cairn/layer/tanh_gelu.hpp>
#include <cairn/layer/tied.hpp>
#include <cairn/net/elements.hpp>
#include <cairn/net/initialized.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/net/transformer_encoder_layer.hpp>

namespace cairn::detail {

// An option that a network has unless its user gives one of the same kind.
template <class Default, class... Options>
using unless_given = std::conditional_t<
    ((read_encoder_option<Options>::kind == read_encoder_option<Default>::kind && key_heads_of<Options> == 0) || ...), pack<>,
    pack<Default>>;

template <std::size_t C, std::size_t Heads, class Options>
struct layer_with;
template <std::size_t C, std::size_t Heads, class... Options>
struct layer_with<C, Heads, pack<Options...>> : type_of<TransformerEncoderLayer<C, Heads, 4 * C, Options...>> {};

template <std::size_t C, std::size_t Heads, class... Options>
using gpt2_layer = typename layer_with<C, Heads,
                                       typename joined<pack<attention::norm_first>, unless_given<attention::causal, Options...>,
                                                       unless_given<TanhGELU, Options...>, pack<Options...>>::type>::type;

template <std::size_t C>
using bert_norm = LayerNorm<C, fraction{1, 1'000'000'000'000}>;
template <std::size_t C, std::size_t Heads, class... Options>
using bert_layer = typename layer_with<C, Heads,
                                       typename joined<unless_given<attention::norm<bert_norm<C>>, Options...>,
                                                       unless_given<GELU, Options...>, pack<Options...>>::type>::type;

// The networks, with the Dropout among their options after the embeddings too.
template <class Drops>
struct transformers_with;
template <class... Drops>
struct transformers_with<pack<Drops...>> {
  template <std::size_t Vocabulary, std::size_t T, std::size_t C, std::size_t Layers, class Layer,
            class Words = Embedding<Vocabulary, C>>
  using gpt2 = Sequential<Inputs<integers<T>>, Words, LearnedPositions<T, C>, Drops..., Repeat<Layers, Layer>, LayerNorm<C>,
                          Tied<Linear<C, Vocabulary, false>, Words>>;

  template <std::size_t Vocabulary, std::size_t T, std::size_t C, std::size_t Layers, class Layer,
            class Words = Sum<Embedding<Vocabulary, C>, Embedding<2, C>>>
  using bert = Sequential<Inputs<integers<T>, integers<T>>, Words, LearnedPositions<T, C>, bert_norm<C>, Drops...,
                          Repeat<Layers, Layer>, Linear<C, C>, GELU, bert_norm<C>, Tied<Linear<C, Vocabulary>, Words>>;
};
template <class... Options>
using transformers_of = transformers_with<typename encoder_options_of<encoder_option::dropout, pack<>, Options...>::type>;

} // namespace cairn::detail

// Known transformers, and the initial values of their weights. load_weights() reads their files by gpt2_names and bert_names
// (train/state/transformer_names.hpp).
namespace cairn::transformers {

// The initial values of GPT-2, for initialized<>: weights are normal with deviation 0.02, and with 0.02 / sqrt(2 Layers) in the
// last Linear of each of the two residual sums of a layer, so that their total does not grow with Layers; biases are 0 (Radford,
// Wu, Child, Luan, Amodei, Sutskever: Language models are unsupervised multitask learners, 2019).
template <std::size_t Layers>
struct gpt2_weights : normal_weights<percent<2>> {
  using last_of_sum = normal_weights<percent<2>, 2 * Layers>;
};

// GPT-2 (the same paper): T tokens become (T, Vocabulary) logits of the tokens after them. Embeddings of tokens and positions,
// layers that norm first and see earlier tokens only, a norm, and a head with the weight of the tokens and without a bias. It
// starts as gpt2_weights. gpt2<> has 124,439,808 parameters; the larger ones are
//
//   gpt2<50257, 1024, 1024, 16, 24>   355 million
//   gpt2<50257, 1024, 1280, 20, 36>   774 million
//   gpt2<50257, 1024, 1600, 25, 48>   1558 million
//
// Options are those of TransformerEncoderLayer. An activation takes the place of TanhGELU, and a mask that of attention::causal;
// a Dropout is after the embeddings too.
template <std::size_t Vocabulary = 50257, std::size_t T = 1024, std::size_t C = 768, std::size_t Heads = 12,
          std::size_t Layers = 12, class... Options>
using gpt2 = initialized<typename detail::transformers_of<Options...>::template gpt2<Vocabulary, T, C, Layers,
                                                                                     detail::gpt2_layer<C, Heads, Options...>>,
                         gpt2_weights<Layers>>;

// BERT with its head for masked tokens (Devlin, Chang, Lee, Toutanova: BERT: pre-training of deep bidirectional transformers.
// arXiv:1810.04805): T tokens and the segment of each, 0 or 1, become (T, Vocabulary) logits. Embeddings of tokens, segments and
// positions, layers that norm last and see all tokens, and a head of a Linear, GELU, a norm and a Linear that has the weight of
// the tokens and a bias of its own. Weights start normal with deviation 0.02. bert<> is BERT-Base with 109,514,298 parameters,
// bert<30522, 512, 1024, 16, 24> is BERT-Large with 335 million.
//
// Options are those of TransformerEncoderLayer. An activation takes the place of GELU in its layers, and an attention::norm that
// of their norms; a Dropout is after the embeddings too.
template <std::size_t Vocabulary = 30522, std::size_t T = 512, std::size_t C = 768, std::size_t Heads = 12,
          std::size_t Layers = 12, class... Options>
using bert = initialized<typename detail::transformers_of<Options...>::template bert<Vocabulary, T, C, Layers,
                                                                                     detail::bert_layer<C, Heads, Options...>>,
                         normal_weights<percent<2>>>;

} // namespace cairn::transformers
