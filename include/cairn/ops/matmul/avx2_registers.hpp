// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>

#include <immintrin.h>

namespace cairn::detail {

// A register of 32 bytes. The mask of AVX2 is a register too: all bits of an element are set, or none. A masked
// load gives zero where the mask is not set and touches no memory there.
template <class T>
struct avx2_register;

template <>
struct avx2_register<float> {
  using vector = __m256;
  using mask = __m256i;
  static constexpr std::size_t width = 8;

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static mask first(std::size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector fill(float x) { return _mm256_set1_ps(x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector load(const float* p) { return _mm256_loadu_ps(p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector load(const float* p, mask m) {
    return _mm256_maskload_ps(p, m);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static void store(float* p, vector x) { _mm256_storeu_ps(p, x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static void store(float* p, vector x, mask m) {
    _mm256_maskstore_ps(p, m, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector add(vector x, vector y) {
    return _mm256_add_ps(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector max(vector x, vector y) {
    return _mm256_max_ps(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector multiply_add(vector x, vector y, vector z) {
    return _mm256_fmadd_ps(x, y, z);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector where_positive(vector x, vector y) {
    return _mm256_and_ps(_mm256_cmp_ps(x, fill(0), _CMP_GT_OQ), y);
  }
};

template <>
struct avx2_register<double> {
  using vector = __m256d;
  using mask = __m256i;
  static constexpr std::size_t width = 4;

  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static mask first(std::size_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<long long>(n)), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector fill(double x) { return _mm256_set1_pd(x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector load(const double* p) { return _mm256_loadu_pd(p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector load(const double* p, mask m) {
    return _mm256_maskload_pd(p, m);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static void store(double* p, vector x) { _mm256_storeu_pd(p, x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static void store(double* p, vector x, mask m) {
    _mm256_maskstore_pd(p, m, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector add(vector x, vector y) {
    return _mm256_add_pd(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector max(vector x, vector y) {
    return _mm256_max_pd(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector multiply_add(vector x, vector y, vector z) {
    return _mm256_fmadd_pd(x, y, z);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX2 static vector where_positive(vector x, vector y) {
    return _mm256_and_pd(_mm256_cmp_pd(x, fill(0), _CMP_GT_OQ), y);
  }
};

} // namespace cairn::detail

#endif
