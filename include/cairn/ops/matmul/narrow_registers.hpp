// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>
#include <cstdint>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/matmul/avx2_registers.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Eight 16-bit elements, each in the lower half of a word, and as floats. The conversions have the bits of those of one element.
struct eight_words {
  typedef std::uint16_t halves __attribute__((vector_size(16)));
  typedef std::uint16_t loose_halves __attribute__((vector_size(16), aligned(2), may_alias));
  typedef std::uint32_t words __attribute__((vector_size(32)));
  typedef std::uint32_t loose __attribute__((vector_size(32), aligned(4), may_alias));
  using floats = typename simd<float, 32>::vector;

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static words load(const void* p) {
    return __builtin_convertvector(*static_cast<const loose_halves*>(p), words);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static void store(void* p, words x) {
    *static_cast<loose_halves*>(p) = __builtin_convertvector(x, halves);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static words where(words which, words x, words y) {
    return (which & x) | (~which & y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static words less(words x, words y) { return reinterpret_cast<words>(x < y); }
};

template <class T>
struct eight_of;

template <>
struct eight_of<bfloat16> : eight_words {
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static floats widened(words x) { return reinterpret_cast<floats>(x << 16); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static words rounded(floats x) {
    const words b = reinterpret_cast<words>(x), top = b >> 16;
    return where(less(words{} + 0x7F800000U, b & 0x7FFFFFFFU), top | 0x40U, (b + 0x7FFFU + (top & 1U)) >> 16);
  }
};

template <>
struct eight_of<float16> : eight_words {
  // A number's exponent is moved to that of a float; infinity and NaN keep the greatest one. A subnormal number is counted in
  // units of 2^-24.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static floats widened(words x) {
    constexpr std::uint32_t moved = 112U << 23;
    const words magnitude = (x & 0x7FFFU) << 13, sign = (x & 0x8000U) << 16;
    const floats units = __builtin_convertvector(reinterpret_cast<typename simd<float, 32>::integers>(x & 0x3FFU), floats);
    const words tiny = reinterpret_cast<words>(units * 0x1p-24F);
    const words number = magnitude + moved + (less(words{} + 0x0F7FFFFFU, magnitude) & moved);
    return reinterpret_cast<floats>(sign | where(less(magnitude, words{} + 0x00800000U), tiny, number));
  }
  // Numbers below 2^-14 become a multiple of 2^-24, which is what 0.5 rounds a sum to.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static words rounded(floats x) {
    const words b = reinterpret_cast<words>(x), magnitude = b & 0x7FFFFFFFU, sign = b >> 16 & 0x8000U;
    const words number = ((magnitude + 0xFFFU + (magnitude >> 13 & 1U)) >> 13) - (112U << 10);
    const words tiny = reinterpret_cast<words>(reinterpret_cast<floats>(magnitude) + 0.5F) - 0x3F000000U;
    const words nan = (magnitude >> 13 & 0x3FFU) | 0x7E00U;
    const words finite = where(less(magnitude, words{} + 0x38800000U), tiny, number);
    const words large = where(less(words{} + 0x7F800000U, magnitude), nan, words{} + 0x7C00U);
    return sign | where(less(magnitude, words{} + 0x477FF000U), finite, large);
  }
};

// With F16C, which every machine with AVX-512 has. A signalling NaN becomes quiet.
struct eight_of_f16c : eight_of<float16> {
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static floats widened(words x) {
    const halves from = __builtin_convertvector(x, halves);
    floats to;
    __asm__("vcvtph2ps %1, %0" : "=x"(to) : "x"(from));
    return to;
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
