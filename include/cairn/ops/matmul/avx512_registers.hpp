// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>
#include <type_traits>

#include <cairn/ops/matmul/avx2_registers.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A register of Bytes bytes (64, or 32 for few remaining columns), with one mask bit for each element. A masked load gives zero
// where the mask is not set and touches no memory there.
template <class T, std::size_t Bytes>
struct avx512_register {
  using vector = typename simd<T, Bytes>::vector;
  using loose = typename simd<T, Bytes>::loose;
  static constexpr std::size_t width = simd<T, Bytes>::width;
  static constexpr std::size_t reduced = 1; // elements of the reduction that a multiplication takes
  static constexpr std::size_t in_word = 1; // elements of the reduction in a word of b
  using mask = std::conditional_t<width == 16, unsigned short, unsigned char>;

  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static mask first(std::size_t n) { return static_cast<mask>((1U << n) - 1U); }
  // Not vector{} + x, which would lose the sign of a zero.
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector fill(T x) { return x - vector{}; }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector fill_from(const T* p) { return fill(*p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const T* p) { return *reinterpret_cast<const loose*>(p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const T* p, mask m) {
    if constexpr (width == 16) return __builtin_ia32_loadups512_mask(p, vector{}, m);
    else if constexpr (sizeof(vector) == 64) return __builtin_ia32_loadupd512_mask(p, vector{}, m);
    else if constexpr (width == 8) return __builtin_ia32_loadups256_mask(either<const T>{p}, vector{}, m);
    else return __builtin_ia32_loadupd256_mask(either<const T>{p}, vector{}, m);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(T* p, vector x) { *reinterpret_cast<loose*>(p) = x; }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(T* p, vector x, mask m) {
    if constexpr (width == 16) __builtin_ia32_storeups512_mask(p, x, m);
    else if constexpr (sizeof(vector) == 64) __builtin_ia32_storeupd512_mask(p, x, m);
    else if constexpr (width == 8) __builtin_ia32_storeups256_mask(either<T>{p}, x, m);
    else __builtin_ia32_storeupd256_mask(either<T>{p}, x, m);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector add(vector x, vector y) { return x + y; }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector max(vector x, vector y) { return x > y ? x : y; }
  // For 64 bytes the instruction takes a mask (here every element) and a rounding mode (4: the processor's current one).
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector multiply_add(vector x, vector y, vector z) {
    if constexpr (width == 16) return __builtin_ia32_vfmaddps512_mask(x, y, z, every{}, 4);
    else if constexpr (sizeof(vector) == 64) return __builtin_ia32_vfmaddpd512_mask(x, y, z, every{}, 4);
    else return avx2_register<T>::multiply_add(x, y, z);
  }
  // 0 where x <= 0, else y: also where x is NaN.
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector masked(vector x, vector y) { return x <= 0 ? vector{} : y; }

private:
  // A mask of all elements: g++ takes one of 16 as signed, clang as unsigned.
  struct every {
    [[gnu::always_inline]] constexpr operator short() const { return -1; }
    [[gnu::always_inline]] constexpr operator unsigned short() const { return 0xFFFF; }
    [[gnu::always_inline]] constexpr operator unsigned char() const { return 0xFF; }
  };

  // g++ takes these addresses as those of elements, clang as those of vectors.
  template <class U>
  struct either {
    using wide = std::conditional_t<std::is_const_v<U>, const vector, vector>;
    U* at;
    [[gnu::always_inline]] operator U*() const { return at; }
    [[gnu::always_inline]] operator wide*() const { return reinterpret_cast<wide*>(at); }
  };
};

// The same for pairs of bfloat16 in words that are called floats: a multiplication adds both products of a pair, fused, the
// second one first. Subnormal numbers count as zero. The instruction is written out, as its built-in function has other types in
// each compiler, and so needs no attribute.
template <class T, std::size_t Bytes>
struct avx512_bf16_register : avx512_register<float, Bytes> {
  using vector = typename avx512_register<float, Bytes>::vector;
  using words = typename simd<float, Bytes>::integers;
  typedef int loose_word __attribute__((aligned(2), may_alias));
  static constexpr std::size_t reduced = 2;

  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector fill_from(const float* p) {
    return reinterpret_cast<vector>(words{} + *reinterpret_cast<const loose_word*>(p));
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector multiply_add(vector x, vector y, vector z) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(z) : "v"(x), "v"(y));
    return z;
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
