// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// The number of elements that are computed at once: one AVX-512 register of float, several registers otherwise. The last elements
// of an array are padded to a full block, so every element goes through the same instructions.
inline constexpr std::size_t element_block = 16;

// An array is cut into parts of this length, whatever the number of threads. A shorter part costs more to
// hand to another thread than to do.
inline constexpr std::size_t element_part = 65536;

// Elements are prefetched a page before they are read: a processor's own prefetchers stop where a page ends. Measured on a Xeon
// with arrays in the third-level cache, GELU takes 0.7 to 0.8 of the time and Adam 0.65.
template <class T>
inline constexpr std::size_t elements_ahead = 4096 / sizeof(T);

// Whole blocks. Loops of constant length over local arrays need no check for overlap, and the compiler keeps
// the arrays in registers.
template <std::size_t Results, class F, class T, std::size_t Operands, std::size_t... I>
[[gnu::always_inline]] inline void run_blocks(const F& f, std::size_t count, const std::array<T*, Results>& results,
                                              const std::array<const T*, Operands>& sources, std::index_sequence<I...>) {
  const F element = f;
  const T* const* const from = sources.data();
  T* const* const to = results.data();
  for (std::size_t i = 0; i < count; i += element_block) {
    for (std::size_t k = 0; k < Operands; ++k) __builtin_prefetch(from[k] + i + elements_ahead<T>);
    T v[Operands][element_block];
    for (std::size_t k = 0; k < Operands; ++k)
      for (std::size_t j = 0; j < element_block; ++j) v[k][j] = from[k][i + j];
    for (std::size_t j = 0; j < element_block; ++j) element(v[I][j]...);
    for (std::size_t k = 0; k < Results; ++k)
      for (std::size_t j = 0; j < element_block; ++j) to[k][i + j] = v[k][j];
  }
}

// The same, compiled for each instruction set. These functions are not inlined, so that a whole array and its last block run
// through one piece of code.
template <std::size_t Results, class F, class T, std::size_t Operands>
[[gnu::noinline]] void run_blocks_plain(const F& f, std::size_t count, const std::array<T*, Results>& results,
                                        const std::array<const T*, Operands>& sources) {
  run_blocks(f, count, results, sources, std::make_index_sequence<Operands>());
}
template <std::size_t Results, class F, class T, std::size_t Operands>
[[gnu::noinline]] CAIRN_TARGET_AVX2 void run_blocks_avx2(const F& f, std::size_t count, const std::array<T*, Results>& results,
                                                         const std::array<const T*, Operands>& sources) {
  run_blocks(f, count, results, sources, std::make_index_sequence<Operands>());
}
template <std::size_t Results, class F, class T, std::size_t Operands>
[[gnu::noinline]] CAIRN_TARGET_AVX512 void run_blocks_avx512(const F& f, std::size_t count,
                                                             const std::array<T*, Results>& results,
                                                             const std::array<const T*, Operands>& sources) {
  run_blocks(f, count, results, sources, std::make_index_sequence<Operands>());
}

// clang 14 splits a block of 16 floats when the target has AVX-512, and is then five times slower than for AVX2.
inline instruction_set widest_for_elements() {
#if defined(__clang__)
  return std::min(widest_instruction_set(), instruction_set::avx2);
#else
  return widest_instruction_set();
#endif
}

template <std::size_t Results, class F, class T, std::size_t Operands>
void run_elements(instruction_set set, const F& f, std::size_t count, const std::array<T*, Results>& results,
                  const std::array<const T*, Operands>& sources) {
  static_assert(Results <= Operands, "elementwise: there are more results than operands; add operands");
  const auto blocks = set == instruction_set::avx512 ? run_blocks_avx512<Results, F, T, Operands>
                      : set == instruction_set::avx2 ? run_blocks_avx2<Results, F, T, Operands>
                                                     : run_blocks_plain<Results, F, T, Operands>;
  const std::size_t whole = count / element_block * element_block;
  if (whole != 0) blocks(f, whole, results, sources);
  if (whole == count) return;

  alignas(64) T padded[Operands][element_block] = {};
  std::array<T*, Results> to{};
  std::array<const T*, Operands> from{};
  for (std::size_t k = 0; k < Operands; ++k) {
    std::copy(sources[k] + whole, sources[k] + count, padded[k]);
    from[k] = padded[k];
    if (k < Results) to[k] = padded[k];
  }
  blocks(f, element_block, to, from);
  for (std::size_t k = 0; k < Results; ++k) std::copy(padded[k], padded[k] + (count - whole), results[k] + whole);
}

// 16-bit elements to the type that formulas compute in, and back, rounded once. Both do whole blocks first, as a loop of constant
// length becomes vector code.
template <narrow_element T>
void widen(accumulated<T>* __restrict to, const T* __restrict from, std::size_t count) {
  std::size_t i = 0;
  for (; i + element_block <= count; i += element_block)
    for (std::size_t j = 0; j < element_block; ++j) to[i + j] = static_cast<accumulated<T>>(from[i + j]);
  for (; i < count; ++i) to[i] = static_cast<accumulated<T>>(from[i]);
}
template <narrow_element T>
void round_once(T* __restrict to, const accumulated<T>* __restrict from, std::size_t count) {
  std::size_t i = 0;
  for (; i + element_block <= count; i += element_block)
    for (std::size_t j = 0; j < element_block; ++j) to[i + j] = static_cast<T>(from[i + j]);
  for (; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

// The same for 16-bit elements: f works in the type that their sums are kept in, and its results are rounded once.
template <std::size_t Results, class F, narrow_element T, std::size_t Operands>
void run_elements(instruction_set set, const F& f, std::size_t count, const std::array<T*, Results>& results,
                  const std::array<const T*, Operands>& sources) {
  using wide = accumulated<T>;
  constexpr std::size_t piece = 256;
  alignas(64) wide own[Operands][piece];
  std::array<wide*, Results> to{};
  std::array<const wide*, Operands> from{};
  for (std::size_t k = 0; k < Operands; ++k) from[k] = own[k];
  for (std::size_t k = 0; k < Results; ++k) to[k] = own[k];
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const std::size_t length = std::min(piece, count - begin);
    const std::size_t whole = (length + element_block - 1) / element_block * element_block; // filled up with zeros
    for (std::size_t k = 0; k < Operands; ++k) {
      widen(own[k], sources[k] + begin, length);
      for (std::size_t i = length; i < whole; ++i) own[k][i] = 0;
    }
    run_elements(set, f, whole, to, from);
    for (std::size_t k = 0; k < Results; ++k) round_once(results[k] + begin, own[k], length);
  }
}

// f(a[i], b[i], ...) for every i in [0, count). The arguments are copies of the operands' elements, which f takes by reference.
// The values that f leaves in the first of them go to the results, in the same order; there are at most as many results as
// operands. A result may be an operand.
//
// f computes one element; the same object serves every instruction set. To become vector code without -ffast-math it must have no
// branch: it computes both sides of a choice, and blend() takes one. It must be [[gnu::always_inline]]; otherwise it remains a
// call to code of the lowest instruction set.
//
// An element's bits depend on its own operands only, not on its place in the array nor on how the array is cut.
template <std::size_t Results, class F, class T, std::size_t Operands>
void elementwise(cpu::queue& queue, std::size_t count, const F& f, const std::array<T*, Results>& results,
                 const std::array<const T*, Operands>& sources) {
  const instruction_set set = widest_for_elements();
  const std::size_t parts = (count + element_part - 1) / element_part;
  queue.parallel_for(parts, [&](std::size_t part, auto) {
    const std::size_t begin = part * element_part;
    std::array<T*, Results> to = results;
    std::array<const T*, Operands> from = sources;
    for (T*& pointer : to) pointer += begin;
    for (const T*& pointer : from) pointer += begin;
    run_elements(set, f, std::min(element_part, count - begin), to, from);
  });
}

// Adapts a function that returns its result to one that leaves it in its first operand.
template <class F>
struct leaves_result {
  F function;
  template <class T, class... More>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& first, More... more) const {
    first = static_cast<T>(function(first, more...));
  }
};

} // namespace cairn::detail

namespace cairn::ops {

// f becomes vector code if it has no branch and everything that it calls is inlined. Its bits depend on the elements alone: not
// on their place, the number of threads or `count`.
template <class T, class F, class... From>
void elementwise(cpu::queue& queue, std::size_t count, const F& f, T* to, const From*... from) {
  static_assert(sizeof...(From) > 0 && (std::same_as<T, From> && ...),
                "elementwise: expected at least one array to read, all of the element type that is written");
  static_assert(std::is_trivially_copyable_v<F>, "elementwise: the function is copied to the device, expected one that can be "
                                                 "copied byte by byte: give it numbers, not containers");
  static_assert(std::is_invocable_r_v<accumulated<T>, const F&, const accumulated<From>&...>,
                "elementwise: the function cannot be called with one element of each array, expected T operator()(T, ...) const");
  detail::elementwise(queue, count, detail::leaves_result<F>{f}, std::array<T*, 1>{to},
                      std::array<const T*, sizeof...(From)>{from...});
}

} // namespace cairn::ops

CAIRN_KERNELS_END
