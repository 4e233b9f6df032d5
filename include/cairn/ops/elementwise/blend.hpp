// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// condition ? a : b on the bits of the values. An ordinary ?: lets g++ 12 move the computation of one side under the condition.
// It then makes no vector code for AVX2, because the side not taken might trap.
template <class T>
[[gnu::always_inline]] CAIRN_HOST_DEVICE inline T blend(bool condition, T a, T b) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const bits mask = bits{0} - static_cast<bits>(condition);
  return __builtin_bit_cast(T, (__builtin_bit_cast(bits, a) & mask) | (__builtin_bit_cast(bits, b) & ~mask));
}

} // namespace cairn::detail

CAIRN_KERNELS_END
