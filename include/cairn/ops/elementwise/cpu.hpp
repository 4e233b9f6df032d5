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
#include <cairn/ops/elementwise/conversions.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>
#include <cairn/ops/elementwise/in_registers.hpp>

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

// Whole blocks. Results go to a local array first, so a loop of constant length needs no check for overlap. Operands do not: g++
// copies an array in pieces of 16 bytes, and a vector of AVX2 that is read from two such pieces waits for both of them.
template <class F, class T, std::size_t Results, std::size_t Operands, std::size_t... I, std::size_t... K>
[[gnu::always_inline]] inline void run_blocks(const F& f, std::size_t count, const std::array<T*, Results>& results,
                                              const std::array<const T*, Operands>& sources, std::index_sequence<I...>,
                                              std::index_sequence<K...>) {
  const F element = f;
  const T* const from[Operands] = {sources.data()[I]...};
  T* const to[Results] = {results.data()[K]...};
  for (std::size_t i = 0; i < count; i += element_block) {
    for (std::size_t k = 0; k < Operands; ++k) __builtin_prefetch(from[k] + i + elements_ahead<T>);
    T made[Results][element_block];
    for (std::size_t j = 0; j < element_block; ++j) {
      T v[Operands] = {from[I][i + j]...};
      element(v[I]...);
      ((made[K][j] = v[K]), ...);
    }
    for (std::size_t k = 0; k < Results; ++k)
      for (std::size_t j = 0; j < element_block; ++j) to[k][i + j] = made[k][j];
  }
}

// The same, compiled for each instruction set. These functions are not inlined, so that a whole array and its last block run
// through one piece of code.
template <std::size_t Results, class F, class T, std::size_t Operands>
[[gnu::noinline]] void run_blocks_plain(const F& f, std::size_t count, const std::array<T*, Results>& results,
                                        const std::array<const T*, Operands>& sources) {
  run_blocks(f, count, results, sources, std::make_index_sequence<Operands>(), std::make_index_sequence<Results>());
}
template <std::size_t Results, class F, class T, std::size_t Operands>
[[gnu::noinline]] CAIRN_TARGET_AVX2 void run_blocks_avx2(const F& f, std::size_t count, const std::array<T*, Results>& results,
                                                         const std::array<const T*, Operands>& sources) {
  run_blocks(f, count, results, sources, std::make_index_sequence<Operands>(), std::make_index_sequence<Results>());
}
template <std::size_t Results, class F, class T, std::size_t Operands>
[[gnu::noinline]] CAIRN_TARGET_AVX512 void run_blocks_avx512(const F& f, std::size_t count,
                                                             const std::array<T*, Results>& results,
                                                             const std::array<const T*, Operands>& sources) {
  run_blocks(f, count, results, sources, std::make_index_sequence<Operands>(), std::make_index_sequence<Results>());
}

// The same with vectors of AVX2 but not its FMA: no product and sum are contracted into one operation, so the bits are those of
// run_blocks_plain().
#if CAIRN_X86
template <std::size_t Results, class F, class T, std::size_t Operands>
[[gnu::noinline]] __attribute__((target("avx2"))) void run_blocks_uncontracted(const F& f, std::size_t count,
                                                                               const std::array<T*, Results>& results,
                                                                               const std::array<const T*, Operands>& sources) {
  run_blocks(f, count, results, sources, std::make_index_sequence<Operands>(), std::make_index_sequence<Results>());
}
#endif

template <std::size_t Results, class F, class T, std::size_t Operands>
using function_of_blocks = void (*)(const F&, std::size_t, const std::array<T*, Results>&, const std::array<const T*, Operands>&);

template <std::size_t Results, class F, class T, std::size_t Operands>
function_of_blocks<Results, F, T, Operands> blocks_of(instruction_set set) {
  if (set >= instruction_set::avx512) return run_blocks_avx512<Results, F, T, Operands>;
  if (set == instruction_set::avx2) return run_blocks_avx2<Results, F, T, Operands>;
  return run_blocks_plain<Results, F, T, Operands>;
}
template <std::size_t Results, class F, class T, std::size_t Operands>
function_of_blocks<Results, F, T, Operands> blocks_of(uncontracted_set set) {
#if CAIRN_X86
  if (set == uncontracted_set::avx2) return run_blocks_uncontracted<Results, F, T, Operands>;
#else
  static_cast<void>(set);
#endif
  return run_blocks_plain<Results, F, T, Operands>;
}

template <std::size_t Results, class Set, class F, class T, std::size_t Operands>
void run_elements(Set set, const F& f, std::size_t count, const std::array<T*, Results>& results,
                  const std::array<const T*, Operands>& sources) {
  static_assert(Results <= Operands, "elementwise: there are more results than operands; add operands");
  const auto blocks = blocks_of<Results, F, T, Operands>(set);
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

// The same for 16-bit elements: f works on floats, and its results are rounded once.
template <class T, std::size_t... K>
auto all_written(const std::array<T*, sizeof...(K)>& to, std::index_sequence<K...>) {
  return written{to[K]...};
}
template <class T, std::size_t... I>
auto all_taken(const std::array<const T*, sizeof...(I)>& from, std::index_sequence<I...>) {
  return taken{from[I]...};
}
template <std::size_t Results, class Set, class F, narrow_element T, std::size_t Operands>
void run_elements(Set set, const F& f, std::size_t count, const std::array<T*, Results>& results,
                  const std::array<const T*, Operands>& sources) {
  run_narrow(set, f, count, all_written(results, std::make_index_sequence<Results>()),
             all_taken(sources, std::make_index_sequence<Operands>()));
}

// The same for operands and results of elements of either type, T or accumulated<T>.
template <class T, class Set, class F, class... R, class... S>
void run_mixed(Set set, const F& f, std::size_t count, const written<R...>& to, const taken<S...>& from) {
  if constexpr (is_narrow<T>) {
    run_narrow(set, f, count, to, from);
  } else {
    std::array<T*, sizeof...(R)> results{};
    std::array<const T*, sizeof...(S)> sources{};
    for (std::size_t k = 0; k < sizeof...(R); ++k) results[k] = static_cast<T*>(to.at[k]);
    for (std::size_t k = 0; k < sizeof...(S); ++k) sources[k] = static_cast<const T*>(from.at[k]);
    run_elements(set, f, count, results, sources);
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
