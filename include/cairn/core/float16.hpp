// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rounded_bits.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

// IEEE 754 binary16, "half": 11 bits of mantissa, normal from 6e-5 to 65504, subnormal down to 6e-8. As the element type of
// a network it is used like bfloat16 (core/bfloat16.hpp), with the same conversions.
//
// There is no loss scaling: gradients of activations below 3e-8 become 0 and those above 65504 infinity, so a network that
// torch trains with a GradScaler needs bfloat16 or float here.
struct float16 {
  using sum_type = float; // see accumulated

  std::uint16_t bits;

  float16() = default;
  explicit constexpr float16(float x) : bits(detail::rounded_bits<5>(static_cast<double>(x))) {}
  explicit constexpr float16(double x) : bits(detail::rounded_bits<5>(x)) {}
  static constexpr float16 from_bits(std::uint16_t b) { return __builtin_bit_cast(float16, b); }

  explicit constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16, fraction = bits & 0x3FFU;
    const std::uint32_t exponent = bits >> 10 & 0x1FU;
    if (exponent == 0x1F) return __builtin_bit_cast(float, sign | 0x7F800000U | fraction << 13);
    if (exponent != 0) return __builtin_bit_cast(float, sign | (exponent + 112) << 23 | fraction << 13);
    const float tiny = static_cast<float>(fraction) * 0x1p-24F; // a subnormal one, or 0
    return sign != 0 ? -tiny : tiny;
  }
  explicit constexpr operator double() const { return static_cast<double>(static_cast<float>(*this)); }

  // Compares as numbers: NaN is not equal to itself, and -0 equals 0.
  friend constexpr bool operator==(float16 a, float16 b) { return static_cast<float>(a) == static_cast<float>(b); }
};

static_assert(sizeof(float16) == 2);

} // namespace cairn

CAIRN_KERNELS_END
