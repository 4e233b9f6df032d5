// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/elementwise/simd.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// Vectors of 16-bit elements, each in the lower half of a word, and as floats. The conversions have the bits of those of one
// element. read() and write() are conversions of neighbours in memory. Those of eight name AVX2 without FMA, so that formulas
// whose products and sums may not be contracted can call them too.

struct eight_words {
  typedef std::uint16_t halves __attribute__((vector_size(16)));
  typedef std::uint16_t loose_halves __attribute__((vector_size(16), aligned(2), may_alias));
  typedef std::uint32_t words __attribute__((vector_size(32)));
  typedef std::uint32_t loose __attribute__((vector_size(32), aligned(2), may_alias));
  using floats = typename simd<float, 32>::vector;

  [[gnu::always_inline]] __attribute__((target("avx2"))) static words load(const void* p) {
    words x; // g++ 12 would widen the two halves of the vector apart
    __asm__("vpmovzxwd %1, %0" : "=x"(x) : "m"(*static_cast<const loose_halves*>(p)));
    return x;
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static void store(void* p, words x) {
    *static_cast<loose_halves*>(p) = __builtin_convertvector(x, halves);
  }
};

template <class T>
struct eight_of;

template <>
struct eight_of<bfloat16> : eight_words {
  [[gnu::always_inline]] __attribute__((target("avx2"))) static floats widened(words x) {
    return reinterpret_cast<floats>(x << 16);
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static words rounded(floats x) {
    const words b = reinterpret_cast<words>(x), top = b >> 16;
    return x == x ? (b + 0x7FFFU + (top & 1U)) >> 16 : top | 0x40U;
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static floats read(const void* p) { return widened(load(p)); }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static void write(void* p, floats x) { store(p, rounded(x)); }
  // Of sixteen neighbours, which are checked for NaN together.
  [[gnu::always_inline]] __attribute__((target("avx2"))) static void write(void* p, floats x, floats y) {
    int nan = 0; // a bit for each place
    floats unordered;
    __asm__("vcmpunordps %2, %1, %0" : "=x"(unordered) : "x"(x), "x"(y));
    __asm__("vmovmskps %1, %0" : "=r"(nan) : "x"(unordered));
    words first = reinterpret_cast<words>(x), second = reinterpret_cast<words>(y);
    if (nan == 0) [[likely]] {
      first = (first + 0x7FFFU + (first >> 16 & 1U)) >> 16;
      second = (second + 0x7FFFU + (second >> 16 & 1U)) >> 16;
    } else {
      first = rounded(x);
      second = rounded(y);
    }
    __asm__("vpackusdw %2, %1, %0" : "=x"(first) : "x"(first), "x"(second));
    __asm__("vpermq $0xD8, %1, %0" : "=x"(first) : "x"(first));
    *static_cast<loose*>(p) = first;
  }
};

// By F16C, whose instructions are written as text: this target does not name it.
template <>
struct eight_of<float16> : eight_words {
  [[gnu::always_inline]] __attribute__((target("avx2"))) static floats widened(words x) {
    return from_halves(__builtin_convertvector(x, halves));
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static words rounded(floats x) {
    return __builtin_convertvector(to_halves(x), words);
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static floats read(const void* p) {
    floats to;
    __asm__("vcvtph2ps %1, %0" : "=x"(to) : "m"(*static_cast<const loose_halves*>(p)));
    return to;
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static void write(void* p, floats x) {
    *static_cast<loose_halves*>(p) = to_halves(x);
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static void write(void* p, floats x, floats y) {
    write(p, x);
    write(static_cast<char*>(p) + 16, y);
  }

private:
  [[gnu::always_inline]] __attribute__((target("avx2"))) static floats from_halves(halves x) {
    floats to;
    __asm__("vcvtph2ps %1, %0" : "=x"(to) : "x"(x));
    return to;
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static halves to_halves(floats x) { // 0: to nearest, ties to even
    halves to;
    __asm__("vcvtps2ph $0, %1, %0" : "=x"(to) : "x"(x));
    return to;
  }
};

// Floats as they are.
template <>
struct eight_of<float> {
  using floats = typename simd<float, 32>::vector;
  using loose = typename simd<float, 32>::loose;
  [[gnu::always_inline]] __attribute__((target("avx2"))) static floats read(const void* p) {
    return *static_cast<const loose*>(p);
  }
  [[gnu::always_inline]] __attribute__((target("avx2"))) static void write(void* p, floats x, floats y) {
    *static_cast<loose*>(p) = x;
    *static_cast<loose*>(static_cast<void*>(static_cast<char*>(p) + 32)) = y;
  }
};

// The same for sixteen of them.
struct sixteen_words {
  typedef std::uint16_t halves __attribute__((vector_size(32)));
  typedef std::uint16_t loose_halves __attribute__((vector_size(32), aligned(2), may_alias));
  typedef std::uint32_t words __attribute__((vector_size(64)));
  using floats = typename simd<float, 64>::vector;
};

template <class T>
struct sixteen_of;

template <>
struct sixteen_of<bfloat16> : sixteen_words {
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static floats read(const void* p) {
    words x;
    __asm__("vpmovzxwd %1, %0" : "=v"(x) : "m"(*static_cast<const loose_halves*>(p)));
    return reinterpret_cast<floats>(x << 16);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void write(void* p, floats x) {
    const words b = reinterpret_cast<words>(x), top = b >> 16;
    words rounded = (b + 0x7FFFU + (top & 1U)) >> 16;
    unsigned short nan = 0; // a bit for each element
    __asm__("vcmpunordps %1, %1, %0" : "=k"(nan) : "v"(x));
    if (nan != 0) [[unlikely]]
      rounded = x == x ? rounded : top | 0x40U;
    __asm__("vpmovdw %1, %0" : "=m"(*static_cast<loose_halves*>(p)) : "v"(rounded)); // g++ 12 would permute words
  }
};

// Rounded by AVX512-BF16, which takes subnormal numbers as zero: a vector that has one is rounded as above.
struct sixteen_of_bf16 : sixteen_of<bfloat16> {
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void write(void* p, floats x) {
    unsigned short subnormal = 0; // a bit for each element
    __asm__("vfpclassps $0x20, %1, %0" : "=k"(subnormal) : "v"(x));
    if (subnormal != 0) [[unlikely]]
      return sixteen_of<bfloat16>::write(p, x);
    halves to;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(to) : "v"(x));
    *static_cast<loose_halves*>(p) = to;
  }
};

template <>
struct sixteen_of<float16> : sixteen_words {
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static floats read(const void* p) {
    floats to;
    __asm__("vcvtph2ps %1, %0" : "=v"(to) : "m"(*static_cast<const loose_halves*>(p)));
    return to;
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void write(void* p, floats x) {
    halves to;
    __asm__("vcvtps2ph $0, %1, %0" : "=v"(to) : "v"(x));
    *static_cast<loose_halves*>(p) = to;
  }
};
// Floats as they are.
template <>
struct sixteen_of<float> {
  using floats = typename simd<float, 64>::vector;
  using loose = typename simd<float, 64>::loose;
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static floats read(const void* p) { return *static_cast<const loose*>(p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void write(void* p, floats x) { *static_cast<loose*>(p) = x; }
};

// How results of type T are written, bfloat16 by AVX512-BF16 if so.
template <class T, bool ByBf16>
using sixteen_to = std::conditional_t<ByBf16 && std::is_same_v<T, bfloat16>, sixteen_of_bf16, sixteen_of<T>>;

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
