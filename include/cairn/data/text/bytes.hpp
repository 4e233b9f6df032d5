// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/rooms.hpp>
#include <cairn/data/text/check_tokens.hpp>

namespace cairn::text {

// The bytes of a text as tokens 0 … 255: a vocabulary that has every text, in any language and encoding.
struct bytes {
  static constexpr std::size_t size() { return 256; }

  static std::vector<std::int32_t> encode(std::string_view text) {
    std::vector<std::int32_t> tokens(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) tokens[i] = static_cast<unsigned char>(text[i]);
    return tokens;
  }

  // Throws input_error for a token that is no byte.
  static std::string decode(std::span<const std::int32_t> tokens) {
    detail::check_tokens(tokens, size(), "bytes::decode");
    std::string text(tokens.size(), '\0');
    for (std::size_t i = 0; i < tokens.size(); ++i) text[i] = static_cast<char>(static_cast<unsigned char>(tokens[i]));
    return text;
  }
};

} // namespace cairn::text
