// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/narrow_registers.hpp>

CAIRN_KERNELS_BEGIN

// Neighbours in memory that have 16 bits, to the type that formulas compute in and back, with the bits of one element's
// conversions. The two arrays may not overlap.
namespace cairn::detail {

// clang 14 splits a block of 16 floats when the target has AVX-512, and is then five times slower than for AVX2.
inline instruction_set widest_for_elements() {
#if defined(__clang__)
  return std::min(widest_instruction_set(), instruction_set::avx2);
#else
  return widest_instruction_set();
#endif
}

template <class T>
void widen_plain(accumulated<T>* __restrict to, const T* __restrict from, std::size_t count) {
  constexpr std::size_t block = 16; // a loop of constant length becomes vector code
  std::size_t i = 0;
  for (; i + block <= count; i += block)
    for (std::size_t j = 0; j < block; ++j) to[i + j] = static_cast<accumulated<T>>(from[i + j]);
  for (; i < count; ++i) to[i] = static_cast<accumulated<T>>(from[i]);
}
template <class T>
void round_once_plain(T* __restrict to, const accumulated<T>* __restrict from, std::size_t count) {
  constexpr std::size_t block = 16;
  std::size_t i = 0;
  for (; i + block <= count; i += block)
    for (std::size_t j = 0; j < block; ++j) to[i + j] = static_cast<T>(from[i + j]);
  for (; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

#if CAIRN_X86

// The types with vectors in narrow_registers.hpp.
template <class T>
inline constexpr bool has_vectors = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

// The last elements of at least one vector are converted by a vector that ends with them, some for the second time.
template <class T>
CAIRN_TARGET_AVX2 void widen_avx2(float* __restrict to, const T* __restrict from, std::size_t count) {
  using loose = typename simd<float, 32>::loose;
  if (count < 8) return widen_plain(to, from, count);
  for (std::size_t i = 0; i + 8 <= count; i += 8) *reinterpret_cast<loose*>(to + i) = eight_of<T>::read(from + i);
  *reinterpret_cast<loose*>(to + count - 8) = eight_of<T>::read(from + count - 8);
}
template <class T>
CAIRN_TARGET_AVX2 void round_once_avx2(T* __restrict to, const float* __restrict from, std::size_t count) {
  using loose = typename simd<float, 32>::loose;
  if (count < 8) return round_once_plain(to, from, count);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16)
    eight_of<T>::write(to + i, *reinterpret_cast<const loose*>(from + i), *reinterpret_cast<const loose*>(from + i + 8));
  for (; i + 8 <= count; i += 8) eight_of<T>::write(to + i, *reinterpret_cast<const loose*>(from + i));
  eight_of<T>::write(to + count - 8, *reinterpret_cast<const loose*>(from + count - 8));
}
template <class T>
CAIRN_TARGET_AVX512 void widen_avx512(float* __restrict to, const T* __restrict from, std::size_t count) {
  using loose = typename simd<float, 64>::loose;
  if (count < 16) return widen_avx2(to, from, count);
  for (std::size_t i = 0; i + 16 <= count; i += 16) *reinterpret_cast<loose*>(to + i) = sixteen_of<T>::read(from + i);
  *reinterpret_cast<loose*>(to + count - 16) = sixteen_of<T>::read(from + count - 16);
}
template <class T, class Sixteen = sixteen_of<T>>
CAIRN_TARGET_AVX512 void round_once_avx512(T* __restrict to, const float* __restrict from, std::size_t count) {
  using loose = typename simd<float, 64>::loose;
  if (count < 16) return round_once_avx2(to, from, count);
  for (std::size_t i = 0; i + 16 <= count; i += 16) Sixteen::write(to + i, *reinterpret_cast<const loose*>(from + i));
  Sixteen::write(to + count - 16, *reinterpret_cast<const loose*>(from + count - 16));
}

#endif

// to[i] = from[i]: exactly, but that a NaN of float16 becomes quiet.
template <narrow_element T>
void widen(accumulated<T>* to, const T* from, std::size_t count) {
#if CAIRN_X86
  if constexpr (has_vectors<T>) {
    const instruction_set set = widest_for_elements();
    if (set >= instruction_set::avx512) return widen_avx512(to, from, count);
    if (set == instruction_set::avx2) return widen_avx2(to, from, count);
  }
#endif
  widen_plain(to, from, count);
}

// to[i] = from[i], rounded to nearest, ties to even.
template <narrow_element T>
void round_once(T* to, const accumulated<T>* from, std::size_t count) {
#if CAIRN_X86
  if constexpr (has_vectors<T>) {
    const instruction_set set = widest_for_elements();
    if constexpr (std::is_same_v<T, bfloat16>)
      if (set >= instruction_set::avx512 && widest_for_bfloat16() >= instruction_set::avx512_bf16)
        return round_once_avx512<T, sixteen_of_bf16>(to, from, count);
    if (set >= instruction_set::avx512) return round_once_avx512(to, from, count);
    if (set == instruction_set::avx2) return round_once_avx2(to, from, count);
  }
#endif
  round_once_plain(to, from, count);
}

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template void widen(float*, const bfloat16*, std::size_t);
CAIRN_COMPILED template void widen(float*, const float16*, std::size_t);
CAIRN_COMPILED template void round_once(bfloat16*, const float*, std::size_t);
CAIRN_COMPILED template void round_once(float16*, const float*, std::size_t);
#endif

} // namespace cairn::detail

CAIRN_KERNELS_END
