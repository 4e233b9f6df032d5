// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/checksum.hpp>

namespace cairn::text {

// A dataset of all windows of a text, to learn the token that comes next: sample i is the tokens [s, s + Length) with
// s = i · stride, and its targets are the tokens [s + 1, s + Length + 1). Models dataset.
//
//   const auto [train, held_out] = text::token_windows<64>{letters.encode(text)}.split(0.9);
//   loader batches{train, sampler{rank}, batch<12>{}};   // tokens (rows, 64), targets (rows, 64)
//
// With a stride of 1 every window is a sample; with a stride of Length the windows lie side by side, and an epoch reads each
// token once as a target.
//
// A std::vector of tokens is owned: copies and parts of the dataset share it. A std::span is borrowed, and its memory must
// outlive them. Tokens may be kept in fewer bytes than the int32 of a network: token_windows<64, std::uint16_t> has room for
// GPT-2's.
template <std::size_t Length, std::integral Token = std::int32_t>
class token_windows {
  static_assert(Length > 0, "token_windows: a window has one token or more");
  static_assert(std::numeric_limits<Token>::digits <= std::numeric_limits<std::int32_t>::digits,
                "token_windows: a token is an int32, or an integer whose values are int32's, such as std::uint16_t");

public:
  using input_type = std::int32_t;
  using target_type = std::int32_t;

  // Throws input_error for a stride of 0, and for a text of fewer than Length + 1 tokens.
  explicit token_windows(std::vector<Token> tokens, std::size_t stride = 1)
      : token_windows(std::make_shared<const std::vector<Token>>(std::move(tokens)), stride) {}
  explicit token_windows(std::span<const Token> tokens, std::size_t stride = 1) : token_windows(nullptr, tokens, stride) {}

  std::size_t size() const { return (tokens_.size() - Length - 1) / stride_ + 1; }
  static constexpr shape sample_shape() { return {Length}; }
  static constexpr std::size_t targets_per_sample() { return Length; }

  void read(std::size_t index, std::span<input_type> input, std::span<target_type> targets) const {
    const Token* const from = tokens_.data() + index * stride_;
    std::copy_n(from, Length, input.begin());
    std::copy_n(from + 1, Length, targets.begin());
  }

  // A hash of the tokens, whatever their type in memory, and of the stride.
  std::uint64_t fingerprint() const {
    detail::quick_hash all;
    std::array<std::int32_t, 4096> piece{};
    for (std::size_t at = 0; at < tokens_.size(); at += piece.size()) {
      const std::size_t count = std::min(piece.size(), tokens_.size() - at);
      std::copy_n(tokens_.data() + at, count, piece.begin());
      all.add(std::as_bytes(std::span(piece).first(count)));
    }
    const std::array<std::uint64_t, 2> both{all.value(), stride_};
    return std::max<std::uint64_t>(detail::quick_checksum(std::as_bytes(std::span(both))), 1);
  }

  // The first share of the tokens to train with, and the others, held out. No window of one has a token of the other: a
  // random_split would put most tokens into both, as windows overlap. Throws input_error if one part is too short.
  std::array<token_windows, 2> split(double share) const {
    if (!(share > 0 && share < 1))
      throw input_error("token_windows::split: expected a share between 0 and 1, found " + std::to_string(share));
    const auto first = static_cast<std::size_t>(std::floor(static_cast<double>(tokens_.size()) * share));
    return {token_windows(owner_, tokens_.first(first), stride_), token_windows(owner_, tokens_.subspan(first), stride_)};
  }
  // The same tokens with another stride.
  token_windows with_stride(std::size_t stride) const { return token_windows(owner_, tokens_, stride); }

  std::span<const Token> tokens() const { return tokens_; }
  std::size_t stride() const { return stride_; }

private:
  using owner = std::shared_ptr<const std::vector<Token>>;

  token_windows(const owner& owns, std::size_t stride) : token_windows(owns, std::span<const Token>(*owns), stride) {}
  token_windows(owner owns, std::span<const Token> tokens, std::size_t stride)
      : owner_(std::move(owns)), tokens_(tokens), stride_(stride) {
    if (stride_ == 0) throw input_error("token_windows: expected a stride of 1 or more, found 0");
    if (tokens_.size() <= Length)
      throw input_error("token_windows: expected at least " + std::to_string(Length + 1) + " tokens, a window of " +
                        std::to_string(Length) + " and the one after it, found " + std::to_string(tokens_.size()) +
                        "; give more text, or take shorter windows");
  }

  owner owner_; // none if the tokens are borrowed
  std::span<const Token> tokens_;
  std::size_t stride_;
};

} // namespace cairn::text
