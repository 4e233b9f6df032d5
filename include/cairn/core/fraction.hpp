// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <cairn/core/config.hpp>

namespace cairn {

// A number as a template argument: Dropout<percent<10>>, LayerNorm<64, fraction{1, 100000}>. Where the compiler takes
// floating-point arguments (g++ 12, clang 18), Dropout<0.1> does too.
struct fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  constexpr operator double() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};

template <std::int64_t N>
inline constexpr fraction percent{N, 100};

} // namespace cairn
