// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <cairn/core/memory.hpp>

// The bytes of an arena that a step really wrote, to compare with those planned: the arena is filled with a pattern before the
// first step, and whatever no longer has it afterwards was used. Counted in cache lines, because the last line of a buffer may
// have unused numbers at its end.
inline constexpr std::byte untouched{0xA5};

inline void mark_untouched(std::span<std::byte> arena) { std::ranges::fill(arena, untouched); }

inline std::size_t used_bytes(std::span<const std::byte> arena) {
  std::size_t lines = 0;
  for (std::size_t at = 0; at < arena.size(); at += cairn::detail::alignment) {
    const auto line = arena.subspan(at, cairn::detail::alignment);
    lines += std::ranges::any_of(line, [](std::byte b) { return b != untouched; }) ? 1 : 0;
  }
  return lines * cairn::detail::alignment;
}

// The same for a trainer's arena on any device.
template <class Trainer>
void mark_untouched_arena(Trainer& train) {
  train.with_arena([](std::span<std::byte> arena) { mark_untouched(arena); });
}
template <class Trainer>
std::size_t used_bytes_of_arena(Trainer& train) {
  std::size_t used = 0;
  train.with_arena([&](std::span<const std::byte> arena) { used = used_bytes(arena); });
  return used;
}
