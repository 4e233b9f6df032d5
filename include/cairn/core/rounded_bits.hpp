// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <cairn/core/config.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Rounds to the nearest 16-bit number with `Exponent` bits of exponent, laid out as in IEEE 754. Ties go to even, too large
// numbers become infinity, small ones subnormal, and NaN becomes a quiet NaN with the upper bits of its payload.
template <int Exponent>
constexpr std::uint16_t rounded_bits(double x) {
  constexpr int mantissa = 15 - Exponent;          // bits after the leading one
  constexpr int least = 2 - (1 << (Exponent - 1)); // the exponent of the smallest normal number
  constexpr auto infinity = static_cast<std::uint64_t>((1 << Exponent) - 1) << mantissa;
  const auto b = __builtin_bit_cast(std::uint64_t, x);
  const auto sign = static_cast<std::uint16_t>(b >> 63 << 15);
  const std::uint64_t fraction = b & 0xFFFFFFFFFFFFFU;
  const int exponent = static_cast<int>(b >> 52 & 0x7FFU) - 1023;
  if (exponent == -1023) return sign; // 0, or a double far below the smallest number here
  std::uint64_t magnitude = infinity;
  if (exponent == 1024) {
    if (fraction != 0) magnitude |= std::uint64_t{1} << (mantissa - 1) | fraction >> (52 - mantissa);
  } else {
    // x is `whole` times 2^(exponent - 52). Its last `gone` bits are dropped, more of them if the result is subnormal.
    const std::uint64_t whole = fraction | std::uint64_t{1} << 52;
    const int gone = 52 - mantissa + (exponent < least ? least - exponent : 0);
    if (gone > 53) return sign; // less than half of the smallest number
    const std::uint64_t half = std::uint64_t{1} << (gone - 1), rest = whole & ((half << 1) - 1);
    std::uint64_t kept = whole >> gone;
    if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;
    // A carry out of the mantissa is one more in the exponent, which is right from subnormal to infinite.
    kept += static_cast<std::uint64_t>(exponent < least ? 0 : exponent - least) << mantissa;
    if (kept < infinity) magnitude = kept;
  }
  return static_cast<std::uint16_t>(sign | magnitude);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
