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
// Gradients of activations below 3e-8 become 0 and those above 65504 infinity: a network that torch trains with a
// GradScaler needs the option loss_scale of a trainer, or bfloat16.
struct float16 {
  using sum_type = float; // see accumulated

  std::uint16_t bits;

  float16() = default;
  CAIRN_HOST_DEVICE explicit constexpr float16(float x) : bits(rounded(x)) {}
  // Rounds once: by way of float it would round twice.
  explicit constexpr float16(double x) : bits(detail::rounded_bits<5>(x)) {}
  static constexpr float16 from_bits(std::uint16_t b) { return __builtin_bit_cast(float16, b); }

  CAIRN_HOST_DEVICE explicit constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16, fraction = bits & 0x3FFU;
    const std::uint32_t exponent = bits >> 10 & 0x1FU;
    if (exponent == 0x1F) { // a NaN becomes quiet, as the instructions of processors make it
      const std::uint32_t quiet = fraction != 0 ? 0x400000U : 0;
      return __builtin_bit_cast(float, sign | 0x7F800000U | quiet | fraction << 13);
    }
    if (exponent != 0) return __builtin_bit_cast(float, sign | (exponent + 112) << 23 | fraction << 13);
    const float tiny = static_cast<float>(fraction) * 0x1p-24F; // a subnormal one, or 0
    return sign != 0 ? -tiny : tiny;
  }
  CAIRN_HOST_DEVICE explicit constexpr operator double() const { return static_cast<double>(static_cast<float>(*this)); }

  // Compares as numbers: NaN is not equal to itself, and -0 equals 0.
  friend constexpr bool operator==(float16 a, float16 b) { return static_cast<float>(a) == static_cast<float>(b); }

private:
  // Of a normal result as bfloat16 does it. A subnormal one is made by an addition: the last place of 1/2 + |x| is that of the
  // result.
  CAIRN_HOST_DEVICE static constexpr std::uint16_t rounded(float x) {
    const auto b = __builtin_bit_cast(std::uint32_t, x);
    const std::uint32_t sign = b >> 16 & 0x8000U, a = b & 0x7FFFFFFFU;
    constexpr std::uint32_t infinite = 0x7F800000U, two_to_16 = 0x47800000U, two_to_minus_14 = 0x38800000U;
    std::uint32_t made = 0;
    if (a > infinite) made = 0x7E00U | (a >> 13 & 0x3FFU); // NaN
    else if (a >= two_to_16) made = 0x7C00U;
    else if (a >= two_to_minus_14) made = (a - 0x38000000U + 0xFFFU + (a >> 13 & 1U)) >> 13;
    else made = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, a) + 0.5F) - 0x3F000000U;
    return static_cast<std::uint16_t>(sign | made);
  }
};

static_assert(sizeof(float16) == 2);

} // namespace cairn

CAIRN_KERNELS_END
