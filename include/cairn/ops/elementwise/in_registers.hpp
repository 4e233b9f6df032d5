// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/narrow_registers.hpp>

CAIRN_KERNELS_BEGIN

// Formulas on 16-bit elements: a block of 16 is widened when it is loaded and rounded when it is stored, with no array of floats
// in between. An operand or a result may be of floats as well.
namespace cairn::detail {

// The instructions for a formula whose products and sums may not be contracted.
enum class uncontracted_set : unsigned char { plain, avx2 };
inline uncontracted_set widest_uncontracted() {
  return widest_instruction_set() == instruction_set::plain ? uncontracted_set::plain : uncontracted_set::avx2;
}

// The arrays that a formula writes, and those that it reads, in the order of its parameters.
template <class... R>
struct written {
  void* at[sizeof...(R)];
  explicit written(R*... to) : at{to...} {}
};
template <class... S>
struct taken {
  const void* at[sizeof...(S)];
  explicit taken(const S*... from) : at{from...} {}
};

// Elements are prefetched a page before they are read: see elementwise/cpu.hpp.
inline constexpr std::size_t bytes_ahead = 4096;

// Whole blocks. See run_blocks() for what f is; the functions that follow are the same for each instruction set.
template <class F, class... R, class... S, std::size_t... K, std::size_t... I>
[[gnu::noinline]] void run_narrow_plain(const F& f, std::size_t count, const written<R...>& to, const taken<S...>& from,
                                        std::index_sequence<K...>, std::index_sequence<I...>) {
  constexpr std::size_t block = 16;
  const F element = f;
  const auto read = [](float* v, const auto* first) __attribute__((always_inline)) {
    for (std::size_t j = 0; j < block; ++j) v[j] = static_cast<float>(first[j]);
  };
  const auto write = [](auto* first, const float* v) __attribute__((always_inline)) {
    for (std::size_t j = 0; j < block; ++j) first[j] = static_cast<std::remove_reference_t<decltype(first[j])>>(v[j]);
  };
  for (std::size_t i = 0; i < count; i += block) {
    alignas(64) float v[sizeof...(S)][block];
    (read(v[I], static_cast<const S*>(from.at[I]) + i), ...);
    for (std::size_t j = 0; j < block; ++j) element(v[I][j]...);
    (write(static_cast<R*>(to.at[K]) + i, v[K]), ...);
  }
}

#if CAIRN_X86

template <class F, class... R, class... S, std::size_t... K, std::size_t... I>
[[gnu::always_inline]] __attribute__((target("avx2"))) inline void
narrow_blocks_avx2(const F& f, std::size_t count, const written<R...>& results, const taken<S...>& sources,
                   std::index_sequence<K...>, std::index_sequence<I...>) {
  constexpr std::size_t block = 16;
  using vector = typename simd<float, 32>::loose;
  const F element = f;
  void* const to[] = {results.at[K]...};
  const void* const from[] = {sources.at[I]...};
  for (std::size_t i = 0; i < count; i += block) {
    alignas(64) float v[sizeof...(S)][block];
    (__builtin_prefetch(static_cast<const char*>(from[I]) + i * sizeof(S) + bytes_ahead), ...);
    ((*reinterpret_cast<vector*>(v[I]) = eight_of<S>::read(static_cast<const S*>(from[I]) + i)), ...);
    ((*reinterpret_cast<vector*>(v[I] + 8) = eight_of<S>::read(static_cast<const S*>(from[I]) + i + 8)), ...);
    for (std::size_t j = 0; j < block; ++j) element(v[I][j]...);
    (eight_of<R>::write(static_cast<R*>(to[K]) + i, *reinterpret_cast<const vector*>(v[K]),
                        *reinterpret_cast<const vector*>(v[K] + 8)),
     ...);
  }
}
template <class F, class... R, class... S, std::size_t... K, std::size_t... I>
[[gnu::noinline]] CAIRN_TARGET_AVX2 void run_narrow_avx2(const F& f, std::size_t count, const written<R...>& to,
                                                         const taken<S...>& from, std::index_sequence<K...> k,
                                                         std::index_sequence<I...> i) {
  narrow_blocks_avx2(f, count, to, from, k, i);
}

// Without FMA, so no product and sum are contracted.
template <class F, class... R, class... S, std::size_t... K, std::size_t... I>
[[gnu::noinline]] __attribute__((target("avx2"))) void
run_narrow_uncontracted(const F& f, std::size_t count, const written<R...>& to, const taken<S...>& from,
                        std::index_sequence<K...> k, std::index_sequence<I...> i) {
  narrow_blocks_avx2(f, count, to, from, k, i);
}

template <bool ByBf16, class F, class... R, class... S, std::size_t... K, std::size_t... I>
[[gnu::always_inline]] CAIRN_TARGET_AVX512 inline void
narrow_blocks_avx512(const F& f, std::size_t count, const written<R...>& results, const taken<S...>& sources,
                     std::index_sequence<K...>, std::index_sequence<I...>) {
  constexpr std::size_t block = 16;
  using vector = typename simd<float, 64>::loose;
  const F element = f;
  void* const to[] = {results.at[K]...};
  const void* const from[] = {sources.at[I]...};
  for (std::size_t i = 0; i < count; i += block) {
    alignas(64) float v[sizeof...(S)][block];
    (__builtin_prefetch(static_cast<const char*>(from[I]) + i * sizeof(S) + bytes_ahead), ...);
    ((*reinterpret_cast<vector*>(v[I]) = sixteen_of<S>::read(static_cast<const S*>(from[I]) + i)), ...);
    for (std::size_t j = 0; j < block; ++j) element(v[I][j]...);
    (sixteen_to<R, ByBf16>::write(static_cast<R*>(to[K]) + i, *reinterpret_cast<const vector*>(v[K])), ...);
  }
}
template <bool ByBf16, class F, class... R, class... S, std::size_t... K, std::size_t... I>
[[gnu::noinline]] CAIRN_TARGET_AVX512 void run_narrow_avx512(const F& f, std::size_t count, const written<R...>& to,
                                                             const taken<S...>& from, std::index_sequence<K...> k,
                                                             std::index_sequence<I...> i) {
  narrow_blocks_avx512<ByBf16>(f, count, to, from, k, i);
}

// AVX-512 has FMA; g++ can be told not to contract. (clang cannot, and is not given AVX-512: see widest_for_elements().)
#if !defined(__clang__)
template <bool ByBf16, class F, class... R, class... S, std::size_t... K, std::size_t... I>
[[gnu::noinline]] CAIRN_TARGET_AVX512 __attribute__((optimize("fp-contract=off"))) void
run_narrow_avx512_uncontracted(const F& f, std::size_t count, const written<R...>& to, const taken<S...>& from,
                               std::index_sequence<K...> k, std::index_sequence<I...> i) {
  narrow_blocks_avx512<ByBf16>(f, count, to, from, k, i);
}
#endif

#endif

// Whether bfloat16 is rounded by AVX512-BF16.
inline bool rounds_by_bf16() { return widest_for_bfloat16() >= instruction_set::avx512_bf16; }

template <class F, class... R, class... S>
void run_narrow_blocks(instruction_set set, const F& f, std::size_t count, const written<R...>& to, const taken<S...>& from) {
  constexpr std::index_sequence_for<R...> k;
  constexpr std::index_sequence_for<S...> i;
#if CAIRN_X86
  if (set >= instruction_set::avx512) {
    if constexpr ((std::is_same_v<R, bfloat16> || ...))
      if (rounds_by_bf16()) return run_narrow_avx512<true>(f, count, to, from, k, i);
    return run_narrow_avx512<false>(f, count, to, from, k, i);
  }
  if (set == instruction_set::avx2) return run_narrow_avx2(f, count, to, from, k, i);
#else
  static_cast<void>(set);
#endif
  run_narrow_plain(f, count, to, from, k, i);
}
template <class F, class... R, class... S>
void run_narrow_blocks(uncontracted_set set, const F& f, std::size_t count, const written<R...>& to, const taken<S...>& from) {
  constexpr std::index_sequence_for<R...> k;
  constexpr std::index_sequence_for<S...> i;
#if CAIRN_X86
#if !defined(__clang__)
  if (set == uncontracted_set::avx2 && widest_instruction_set() >= instruction_set::avx512) {
    if constexpr ((std::is_same_v<R, bfloat16> || ...))
      if (rounds_by_bf16()) return run_narrow_avx512_uncontracted<true>(f, count, to, from, k, i);
    return run_narrow_avx512_uncontracted<false>(f, count, to, from, k, i);
  }
#endif
  if (set == uncontracted_set::avx2) return run_narrow_uncontracted(f, count, to, from, k, i);
#else
  static_cast<void>(set);
#endif
  run_narrow_plain(f, count, to, from, k, i);
}

// Any number of elements. As with floats, the last ones are padded to a full block.
template <class Set, class F, class... R, class... S>
void run_narrow(Set set, const F& f, std::size_t count, written<R...> to, taken<S...> from) {
  constexpr std::size_t block = 16, of_results = sizeof...(R), of_operands = sizeof...(S);
  static_assert(of_results <= of_operands, "elementwise: there are more results than operands; add operands");
  const std::size_t whole = count / block * block, rest = count - whole;
  if (whole != 0) run_narrow_blocks(set, f, whole, to, from);
  if (rest == 0) return;
  alignas(64) std::byte padded[of_operands][block * sizeof(float)] = {};
  constexpr std::size_t size_to[] = {sizeof(R)...}, size_from[] = {sizeof(S)...};
  written<R...> made = to;
  for (std::size_t k = 0; k < of_operands; ++k) {
    std::memcpy(padded[k], static_cast<const std::byte*>(from.at[k]) + whole * size_from[k], rest * size_from[k]);
    from.at[k] = padded[k];
    if (k < of_results) made.at[k] = padded[k];
  }
  run_narrow_blocks(set, f, block, made, from);
  for (std::size_t k = 0; k < of_results; ++k)
    std::memcpy(static_cast<std::byte*>(to.at[k]) + whole * size_to[k], padded[k], rest * size_to[k]);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
