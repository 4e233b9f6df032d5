// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rounded_bits.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn {

// The upper half of a float: its range, 1e-38 to 3e38, and 8 of its 24 bits of mantissa, so about two decimal digits. As
// the element type of a network, trainer<..., bfloat16>, it halves the memory of activations; gradients of parameters and
// what lives from step to step are float: see core/accumulated.hpp.
//
// It stores and converts, and has no arithmetic: ops compute in float. Conversions are explicit. Those to it round to nearest,
// ties to even; numbers that are too large become infinity, and NaN stays a (quiet) NaN of the same sign. Those from it are
// exact.
struct bfloat16 {
  using sum_type = float; // see accumulated

  std::uint16_t bits;

  bfloat16() = default;
  CAIRN_HOST_DEVICE explicit constexpr bfloat16(float x) : bits(rounded(__builtin_bit_cast(std::uint32_t, x))) {}
  // Rounds once: by way of float it would round twice.
  explicit constexpr bfloat16(double x) : bits(detail::rounded_bits<8>(x)) {}
  static constexpr bfloat16 from_bits(std::uint16_t b) { return __builtin_bit_cast(bfloat16, b); }

  CAIRN_HOST_DEVICE explicit constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }
  CAIRN_HOST_DEVICE explicit constexpr operator double() const { return static_cast<double>(static_cast<float>(*this)); }

  // Compares as numbers: NaN is not equal to itself, and -0 equals 0.
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }

private:
  // Adds half of the last place that stays, less a bit if that place is even. The carry goes up into the exponent.
  CAIRN_HOST_DEVICE static constexpr std::uint16_t rounded(std::uint32_t b) {
    if ((b & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(b >> 16 | 0x40U);
    return static_cast<std::uint16_t>((b + 0x7FFFU + (b >> 16 & 1U)) >> 16);
  }
};

static_assert(sizeof(bfloat16) == 2);

} // namespace cairn

CAIRN_KERNELS_END
