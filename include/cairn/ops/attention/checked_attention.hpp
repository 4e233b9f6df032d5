// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include <cairn/core/error.hpp>
#include <cairn/ops/attention/attention.hpp>

namespace cairn::detail {

// The widest head: the gradients of a key and a value in double are part of a thread's scratch memory.
inline constexpr std::size_t widest_head = 65536;

// Throws an error that names the extents which do not fit.
inline void check_attention(const attention_extents& of) {
  if (of.keys > most_keys)
    throw error("attention: expected at most " + std::to_string(most_keys) + " keys, found " + std::to_string(of.keys) +
                "; cut the sequence");
  if (of.key_heads == 0 || of.heads == 0 || of.heads % of.key_heads != 0)
    throw error("attention: expected a number of heads that is a multiple of the number of key heads, found " +
                std::to_string(of.heads) + " and " + std::to_string(of.key_heads));
  if (of.width == 0 || of.width > widest_head)
    throw error("attention: expected heads of 1 to " + std::to_string(widest_head) + " columns, found " +
                std::to_string(of.width));
}

} // namespace cairn::detail
