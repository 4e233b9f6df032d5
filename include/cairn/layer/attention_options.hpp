// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
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

// The probabilities are stored for backward, Heads * T * T numbers for each sample, where without this option backward makes them
// again from one number for each token and head. Backward takes less time, forward more; a gradient differs by rounding.
struct stored_probabilities {};

} // namespace cairn::attention

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
inline constexpr bool is_attention_option =
    attention_mask<Option> || key_heads_of<Option> > 0 || std::is_same_v<Option, attention::stored_probabilities>;
template <class Option>
inline constexpr bool is_empty_window = false;
template <>
inline constexpr bool is_empty_window<attention::window<0>> = true;

// The options of an attention of so many heads.
template <std::size_t Heads, class... Options>
struct attention_options {
  static constexpr std::size_t masks = (std::size_t{0} + ... + (attention_mask<Options> ? 1 : 0));
  static constexpr std::size_t counts = (std::size_t{0} + ... + (key_heads_of<Options> > 0 ? 1 : 0));
  static constexpr std::size_t key_heads = counts == 0 ? Heads : (std::size_t{0} + ... + key_heads_of<Options>);
  static constexpr std::size_t stores =
      (std::size_t{0} + ... + (std::is_same_v<Options, attention::stored_probabilities> ? 1 : 0));
  static constexpr bool are_known = masks < 2 && counts < 2 && stores < 2 && masks + counts + stores == sizeof...(Options);
  static constexpr bool are_right = Heads > 0 && are_known&& Heads % key_heads == 0 && !(is_empty_window<Options> || ...);

  static constexpr ops::key_band band = [] {
    constexpr bool is_mask[] = {false, attention_mask<Options>...};
    constexpr ops::key_band bands[] = {{}, band_of<Options>...};
    ops::key_band found{};
    for (std::size_t k = 0; k <= sizeof...(Options); ++k)
      if (is_mask[k]) found = bands[k];
    return found;
  }();
};

struct attention_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "attention: its options are at most one mask (attention::full, causal, window<N> with N above 0), at most one "
                  "attention::key_heads<N>, where N divides the number of heads, and attention::stored_probabilities; write "
                  "attention::core<8, attention::causal>");
    return false;
  }
};

} // namespace cairn::detail
