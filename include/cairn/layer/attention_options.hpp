// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/fraction.hpp>
#include <cairn/ops/attention/attention.hpp>

// The options of attention::core (layer/attention.hpp) and of MultiheadAttention (net/multihead_attention.hpp).
namespace cairn::attention {

// Masks: the tokens that each token may look at. A mask of one's own is a type with such a member: the band of keys around the
// token's own place.
struct full { // all of them
  static constexpr ops::key_band keys{};
};
struct causal { // itself and those before it
  static constexpr ops::key_band keys{.after = 0};
};
// Itself and the N - 1 before it.
template <std::size_t N>
struct window {
  static constexpr ops::key_band keys{.before = N == 0 ? ops::most_keys : N - 1, .after = 0};
};

// The number of heads of keys and values, each of which several heads of queries share (Ainslie et al.: GQA. arXiv:2305.13245).
template <std::size_t Count>
struct key_heads {};

// Sets each probability to 0 with this probability and divides it by 1 - Probability otherwise, in training, as torch's
// dropout_p does: attention::dropout<percent<10>>. The mask is not stored: recompute and backward draw it again.
template <auto Probability>
struct dropout {};

// A mask that comes with the data: a constant of the network that is added to the scaled scores, as torch's attn_mask of floats.
// Minus infinity forbids a key, and a token that may look at none has a result of zero. It is the network's first constant<T, T>
// or batch_constant<T, T> of numbers for T tokens, (queries, keys), or (Heads, T, T), a matrix for each head. It has no gradient.
struct added_mask {};

// The number of keys of each sample: its tokens look at the first so many only, as torch's key_padding_mask hides the others. It
// is the network's first integer_constant<>, 0 to T for each sample; any other number throws cairn::error in the forward pass, or
// on a GPU makes the outputs of its sample NaN.
struct key_lengths {};

// The probabilities are stored for backward, Heads * T * T numbers for each sample, where without this option backward makes them
// again from one number for each token and head. Backward takes less time, forward more; a gradient differs by rounding.
struct stored_probabilities {};

} // namespace cairn::attention

// What an option is: for a type that is none, these say so.
namespace cairn::detail {

template <class Option>
concept attention_mask = std::is_same_v<decltype(Option::keys), const ops::key_band>;

template <class Option>
inline constexpr ops::key_band band_of{};
template <attention_mask Option>
inline constexpr ops::key_band band_of<Option> = Option::keys;

template <class Option>
inline constexpr std::size_t key_heads_of = 0; // for a type that is no such option
template <std::size_t Count>
inline constexpr std::size_t key_heads_of<attention::key_heads<Count>> = Count;
template <class Option>
inline constexpr bool is_empty_window = false;
template <>
inline constexpr bool is_empty_window<attention::window<0>> = true;

// Dropout and the constants that an attention reads.
template <class Option>
inline constexpr bool is_added_mask = false;
template <>
inline constexpr bool is_added_mask<attention::added_mask> = true;
template <class Option>
inline constexpr bool is_key_lengths = false;
template <>
inline constexpr bool is_key_lengths<attention::key_lengths> = true;
template <class Option>
inline constexpr bool is_attention_dropout = false;
template <auto Probability>
inline constexpr bool is_attention_dropout<attention::dropout<Probability>> = true;
template <class Option>
inline constexpr double attention_dropout_of = 0; // for a type that is no such option
template <auto Probability>
inline constexpr double attention_dropout_of<attention::dropout<Probability>> = static_cast<double>(Probability);

template <class Option>
concept attention_option =
    std::is_same_v<Option, attention::stored_probabilities> || attention_mask<Option> || key_heads_of<Option> > 0 ||
    is_attention_dropout<Option> || is_added_mask<Option> || is_key_lengths<Option>;

} // namespace cairn::detail
