// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/permutation.hpp>

namespace cairn::text {

// BERT's masked words, as a transform (Devlin, Chang, Lee, Toutanova: BERT. 2019, appendix A.1): a network sees a sample with
// some tokens replaced, and its targets are the tokens that were there before.
//
//   loader batches{train, sampler{rank}, batch<32>{}, text::mask_tokens{.mask = 65, .vocabulary = 65}};
//   trainer<Net, CrossEntropyLoss, AdamW, batch<32>> learn{AdamW{}, {.loss = {.ignore_index = -100}}};
//
// It chooses round(share · n) of the n positions of a sample, at least one, with every choice equally likely. Of those, a share
// `masked` becomes `mask`, a share `random` any token of the vocabulary, the others stay. Their targets are the tokens of the
// sample itself, those of all other positions ignore_index, which has to be that of the loss. So the targets of the dataset are
// not used; it has as many as tokens, as token_windows does.
//
// The choice follows from the loader's seed, the epoch and the sample's number alone: every epoch has another one, and any
// number of ranks the same. Throws input_error for options that make no sense, and for a sample with other than one target for
// each token.
struct mask_tokens {
  std::int32_t mask = -1;              // the token [MASK]
  std::int32_t vocabulary = 0;         // a random token is below this
  double share = 0.15;                 // of the positions that are predicted
  double masked = 0.8;                 // of those, how many become the mask
  double random = 0.1;                 // of those, how many become a random token
  std::int64_t ignore_index = -100;    // the target elsewhere
  std::vector<std::int32_t> without{}; // tokens that are never chosen, such as [CLS], [SEP] and [PAD]; n does not count them

  template <std::integral Token, std::integral Target>
  void operator()(std::span<Token> tokens, std::span<Target> targets, const shape&, const types::random_key& key) const {
    check(tokens.size(), targets.size(), std::in_range<Token>(mask), std::in_range<Token>(vocabulary - 1),
          std::in_range<Target>(ignore_index));
    std::uint64_t left = 0; // positions that may still be chosen
    for (const Token token : tokens) left += may_be_chosen(token) ? 1 : 0;
    auto wanted = std::max<std::uint64_t>(static_cast<std::uint64_t>(std::floor(static_cast<double>(left) * share + 0.5)), 1);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      targets[i] = static_cast<Target>(ignore_index);
      if (!may_be_chosen(tokens[i])) continue;
      // One after another, each with the chance that makes every choice of `wanted` positions equally likely (Knuth: The Art of
      // Computer Programming, volume 2, algorithm S of 3.4.2).
      const auto block = ops::random_block(key, i);
      const std::uint64_t bits = (std::uint64_t{block[0]} << 32U) | block[1];
      if (detail::random_below(bits, left--) >= wanted) continue;
      --wanted;
      targets[i] = static_cast<Target>(tokens[i]);
      const double draw = static_cast<double>(block[2]) * 0x1p-32;
      if (draw < masked) tokens[i] = static_cast<Token>(mask);
      else if (draw < masked + random)
        tokens[i] = static_cast<Token>((std::uint64_t{block[3]} * static_cast<std::uint64_t>(vocabulary)) >> 32U);
    }
  }

private:
  template <class Token>
  bool may_be_chosen(Token token) const {
    return std::find(without.begin(), without.end(), static_cast<std::int32_t>(token)) == without.end();
  }
  void check(std::size_t tokens, std::size_t targets, bool mask_fits, bool vocabulary_fits, bool index_fits) const {
    const auto refuse = [](const std::string& expected, const std::string& found) {
      throw input_error("mask_tokens: expected " + expected + ", found " + found);
    };
    if (mask < 0 || !mask_fits) refuse("a token .mask that takes the place of others", std::to_string(mask));
    if (vocabulary < 1 || !vocabulary_fits)
      refuse("a .vocabulary of 1 token or more, from which random ones are taken", std::to_string(vocabulary));
    if (!(share > 0 && share <= 1)) refuse("a .share above 0 and up to 1", std::to_string(share));
    if (!(masked >= 0 && random >= 0 && masked + random <= 1 + 1e-9))
      refuse("shares .masked and .random of 0 or more, together at most 1",
             std::to_string(masked) + " and " + std::to_string(random));
    if (!index_fits) refuse("an .ignore_index that a target can be", std::to_string(ignore_index));
    if (tokens != targets)
      refuse("a target for each of the " + std::to_string(tokens) + " tokens of a sample, as token_windows has them",
             std::to_string(targets));
  }
};

} // namespace cairn::text
