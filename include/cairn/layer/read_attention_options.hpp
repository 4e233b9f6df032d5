// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/explain.hpp>
#include <cairn/layer/attention_options.hpp>
#include <cairn/ops/attention/attention.hpp>
#include <cairn/ops/dropout/dropout.hpp>

namespace cairn::detail {

// The number of pairs of a query and a key that it may look at, where query i is at place i of the keys.
constexpr std::size_t pairs_in_band(std::size_t queries, std::size_t keys, const ops::key_band& band) {
  const auto sum_to = [](std::size_t n) { return n * (n + 1) / 2; };
  // The keys before the end of each query's band: place + after + 1, or all.
  const std::size_t ends_early = band.after >= keys ? 0 : keys - band.after < queries ? keys - band.after : queries;
  const std::size_t before_ends = sum_to(band.after + ends_early) - sum_to(band.after) + (queries - ends_early) * keys;
  // The keys before its begin: place - before, or none, or all.
  const std::size_t begin_late = queries > band.before + 1 ? queries - band.before - 1 : 0;
  const std::size_t inside = begin_late < keys ? begin_late : keys;
  return before_ends - sum_to(inside) - (begin_late - inside) * keys;
}

// The options of an attention of so many heads.
template <std::size_t Heads, class... Options>
struct attention_options {
  static constexpr std::size_t masks = (std::size_t{0} + ... + (attention_mask<Options> ? 1 : 0));
  static constexpr std::size_t counts = (std::size_t{0} + ... + (key_heads_of<Options> > 0 ? 1 : 0));
  static constexpr std::size_t key_heads = counts == 0 ? Heads : (std::size_t{0} + ... + key_heads_of<Options>);
  static constexpr std::size_t dropouts = (std::size_t{0} + ... + (is_attention_dropout<Options> ? 1 : 0));
  static constexpr std::size_t added = (std::size_t{0} + ... + (is_added_mask<Options> ? 1 : 0));
  static constexpr std::size_t lengths = (std::size_t{0} + ... + (is_key_lengths<Options> ? 1 : 0));
  static constexpr std::size_t stores =
      (std::size_t{0} + ... + (std::is_same_v<Options, attention::stored_probabilities> ? 1 : 0));
  static constexpr bool drops = dropouts > 0, adds = added > 0, has_lengths = lengths > 0;
  static constexpr bool have_extras = drops || adds || has_lengths;
  static constexpr bool are_known = masks < 2 && counts < 2 && dropouts < 2 && added < 2 && lengths < 2 && stores < 2 &&
                                    !(stores > 0 && have_extras) && (attention_option<Options> && ...);
  static constexpr double probability = (0.0 + ... + attention_dropout_of<Options>);
  static constexpr bool are_right = Heads > 0 && are_known&& Heads % key_heads == 0 && !(is_empty_window<Options> || ...) &&
                                    probability >= 0 && probability <= 1;

  static constexpr ops::dropout_rate rate = ops::dropout_rate::of(are_right ? probability : 0);

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
    static_assert(
        is_right<Wrong>,
        "attention: its options are at most one mask (attention::full, causal, window<N> with N above 0), at most one "
        "attention::key_heads<N>, where N divides the number of heads, and attention::added_mask, attention::key_lengths and "
        "attention::dropout<P>, P from 0 to 1, once each, or attention::stored_probabilities in place of those three; write "
        "attention::core<8, attention::causal, "
        "attention::dropout<percent<10>>>");
    return false;
  }
};

struct cross_core_message {
  template <class Wrong>
  static constexpr bool right() {
    static_assert(is_right<Wrong>,
                  "attention: the options of a cross_core are at most one mask (attention::full, causal, window<N> with N above "
                  "0), at most one attention::key_heads<N>, where N divides the number of heads, and attention::added_mask, "
                  "attention::key_lengths and attention::dropout<P>, P from 0 to 1, once each; write attention::cross_core<8>");
    return false;
  }
};

// Are these options of a cross_core? It stores no probabilities.
template <std::size_t Heads, class... Options>
inline constexpr bool are_cross_options =
    attention_options<Heads, Options...>::are_right && attention_options<Heads, Options...>::stores == 0;

} // namespace cairn::detail
