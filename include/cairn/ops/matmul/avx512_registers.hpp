// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if CAIRN_X86

#include <cstddef>

#include <immintrin.h>

namespace cairn::detail {

// A register of Bytes bytes (64, or 32 for narrow ends), with one mask bit for each element. A masked load
// gives zero where the mask is not set and touches no memory there. (max is masked with ones because g++ 12
// warns of its own header otherwise.)
template <class T, std::size_t Bytes>
struct avx512_register;

template <>
struct avx512_register<float, 64> {
  using vector = __m512;
  using mask = __mmask16;
  static constexpr std::size_t width = 16;

  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static mask first(std::size_t n) {
    return static_cast<mask>((1U << n) - 1U);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector fill(float x) { return _mm512_set1_ps(x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const float* p) { return _mm512_loadu_ps(p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const float* p, mask m) {
    return _mm512_maskz_loadu_ps(m, p);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(float* p, vector x) { _mm512_storeu_ps(p, x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(float* p, vector x, mask m) {
    _mm512_mask_storeu_ps(p, m, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector add(vector x, vector y) {
    return _mm512_add_ps(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector max(vector x, vector y) {
    return _mm512_maskz_max_ps(0xFFFF, x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector multiply_add(vector x, vector y, vector z) {
    return _mm512_fmadd_ps(x, y, z);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector where_positive(vector x, vector y) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, fill(0), _CMP_GT_OQ), y);
  }
};

template <>
struct avx512_register<float, 32> {
  using vector = __m256;
  using mask = __mmask8;
  static constexpr std::size_t width = 8;

  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static mask first(std::size_t n) {
    return static_cast<mask>((1U << n) - 1U);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector fill(float x) { return _mm256_set1_ps(x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const float* p) { return _mm256_loadu_ps(p); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const float* p, mask m) {
    return _mm256_maskz_loadu_ps(m, p);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(float* p, vector x) { _mm256_storeu_ps(p, x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(float* p, vector x, mask m) {
    _mm256_mask_storeu_ps(p, m, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector add(vector x, vector y) {
    return _mm256_add_ps(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector max(vector x, vector y) {
    return _mm256_max_ps(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector multiply_add(vector x, vector y, vector z) {
    return _mm256_fmadd_ps(x, y, z);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector where_positive(vector x, vector y) {
    return _mm256_maskz_mov_ps(_mm256_cmp_ps_mask(x, fill(0), _CMP_GT_OQ), y);
  }
};

template <>
struct avx512_register<double, 64> {
  using vector = __m512d;
  using mask = __mmask8;
  static constexpr std::size_t width = 8;

  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static mask first(std::size_t n) {
    return static_cast<mask>((1U << n) - 1U);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector fill(double x) { return _mm512_set1_pd(x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const double* p) {
    return _mm512_loadu_pd(p);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const double* p, mask m) {
    return _mm512_maskz_loadu_pd(m, p);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(double* p, vector x) {
    _mm512_storeu_pd(p, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(double* p, vector x, mask m) {
    _mm512_mask_storeu_pd(p, m, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector add(vector x, vector y) {
    return _mm512_add_pd(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector max(vector x, vector y) {
    return _mm512_maskz_max_pd(0xFF, x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector multiply_add(vector x, vector y, vector z) {
    return _mm512_fmadd_pd(x, y, z);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector where_positive(vector x, vector y) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, fill(0), _CMP_GT_OQ), y);
  }
};

template <>
struct avx512_register<double, 32> {
  using vector = __m256d;
  using mask = __mmask8;
  static constexpr std::size_t width = 4;

  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static mask first(std::size_t n) {
    return static_cast<mask>((1U << n) - 1U);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector fill(double x) { return _mm256_set1_pd(x); }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const double* p) {
    return _mm256_loadu_pd(p);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector load(const double* p, mask m) {
    return _mm256_maskz_loadu_pd(m, p);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(double* p, vector x) {
    _mm256_storeu_pd(p, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static void store(double* p, vector x, mask m) {
    _mm256_mask_storeu_pd(p, m, x);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector add(vector x, vector y) {
    return _mm256_add_pd(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector max(vector x, vector y) {
    return _mm256_max_pd(x, y);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector multiply_add(vector x, vector y, vector z) {
    return _mm256_fmadd_pd(x, y, z);
  }
  [[gnu::always_inline]] CAIRN_TARGET_AVX512 static vector where_positive(vector x, vector y) {
    return _mm256_maskz_mov_pd(_mm256_cmp_pd_mask(x, fill(0), _CMP_GT_OQ), y);
  }
};

} // namespace cairn::detail

#endif
