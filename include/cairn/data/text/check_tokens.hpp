// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <cairn/core/error.hpp>

namespace cairn::detail {

// Throws input_error for the first token that is not below the size of a vocabulary.
inline void check_tokens(std::span<const std::int32_t> tokens, std::size_t size, const char* whose) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || static_cast<std::size_t>(tokens[i]) >= size)
      throw input_error(std::string(whose) + ": expected tokens from 0 to " + std::to_string(size - 1) + ", found " +
                        std::to_string(tokens[i]) + " as number " + std::to_string(i) + " of " + std::to_string(tokens.size()) +
                        "; decode tokens by the vocabulary that encoded them");
}

} // namespace cairn::detail
