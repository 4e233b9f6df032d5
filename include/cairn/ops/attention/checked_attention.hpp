// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
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

// ... and an error that names the key length which does not fit.
template <class T>
void check_attention(const attention_extents& of, const attention_extras<T>& extras) {
  check_attention(of);
  if (extras.key_lengths == nullptr) return;
  for (std::size_t s = 0; s < of.samples; ++s) {
    const std::int32_t length = extras.key_lengths[s];
    if (length < 0 || static_cast<std::size_t>(length) > of.keys)
      throw error("attention: the key length of sample " + std::to_string(s) + " is " + std::to_string(length) +
                  ", but there are 0 to " + std::to_string(of.keys) + " keys");
  }
}

// No extras: the kernels without them are not compiled for extras.
struct no_attention_extras {};
inline void check_attention(const attention_extents& of, no_attention_extras) { check_attention(of); }

// The extents of one sample, with no other keys than those that its queries may look at.
inline attention_extents extents_of_sample(const attention_extents& of, std::size_t, no_attention_extras) { return of; }
template <class T>
attention_extents extents_of_sample(const attention_extents& of, std::size_t sample, const attention_extras<T>& extras) {
  attention_extents out = of;
  if (extras.key_lengths != nullptr) out.keys = static_cast<std::size_t>(extras.key_lengths[sample]);
  return out;
}

} // namespace cairn::detail
