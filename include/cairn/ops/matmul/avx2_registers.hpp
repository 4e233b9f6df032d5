// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>

#include <cairn/ops/elementwise/simd.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// A register of 32 bytes. The mask of AVX2 is a register too: all bits of an element are set, or none. A masked
// load gives zero where the mask is not set and touches no memory there.
template <class T>
struct avx2_register {
  using vector = typename simd<T, 32>::vector;
  using loose = typename simd<T, 32>::loose;
  using mask = typename simd<T, 32>::integers;
  static constexpr std::size_t width = simd<T, 32>::width;
  static constexpr std::size_t reduced = 1; // elements of the reduction that a multiplication takes
  static constexpr std::size_t in_word = 1; // elements of the reduction in a word of b

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static mask first(std::size_t n) {
    const auto count = static_cast<typename simd<T, 32>::integer>(n);
    if constexpr (width == 8) return mask{0, 1, 2, 3, 4, 5, 6, 7} < count;
    else return mask{0, 1, 2, 3} < count;
  }
  // Not vector{} + x, which would lose the sign of a zero.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector fill(T x) { return x - vector{}; }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector fill_from(const T* p) { return fill(*p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector load(const T* p) { return *reinterpret_cast<const loose*>(p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector load(const T* p, mask m) {
    const auto* const from = reinterpret_cast<const vector*>(p);
    if constexpr (width == 8) return __builtin_ia32_maskloadps256(from, m);
    else return __builtin_ia32_maskloadpd256(from, m);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static void store(T* p, vector x) { *reinterpret_cast<loose*>(p) = x; }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static void store(T* p, vector x, mask m) {
    auto* const to = reinterpret_cast<vector*>(p);
    if constexpr (width == 8) __builtin_ia32_maskstoreps256(to, m, x);
    else __builtin_ia32_maskstorepd256(to, m, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector add(vector x, vector y) { return x + y; }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector max(vector x, vector y) { return x > y ? x : y; }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector multiply_add(vector x, vector y, vector z) {
    if constexpr (width == 8) return __builtin_ia32_vfmaddps256(x, y, z);
    else return __builtin_ia32_vfmaddpd256(x, y, z);
  }
  // 0 where x <= 0, else y: also where x is NaN.
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector masked(vector x, vector y) { return x <= 0 ? vector{} : y; }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

#endif
