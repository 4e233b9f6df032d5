// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace testing {

// Gives every parameter another number, so that no two tokens, positions or heads are alike.
template <class Model>
void own_weights(Model& net) {
  std::uint32_t state = 1;
  for (auto& x : net.parameters()) {
    state = state * 1664525 + 1013904223;
    x = static_cast<std::remove_reference_t<decltype(x)>>((static_cast<double>(state >> 8) / (1 << 24) - 0.5) / 2);
  }
}

// A token of a text without a pattern.
inline std::int32_t token_at(std::size_t t, std::size_t vocabulary) {
  return static_cast<std::int32_t>((t * t + 3 * t + 1) % vocabulary);
}

} // namespace testing
