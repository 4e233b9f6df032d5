// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementwise.hpp>

namespace cairn {

namespace detail {

// What a GPU loads in one instruction.
inline constexpr std::size_t quad_bytes = 16;
template <class T>
inline constexpr std::size_t quad_width = quad_bytes / sizeof(T);
template <class T>
struct alignas(quad_bytes) quad {
  T at[quad_width<T>];
};

inline bool is_quad_aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % quad_bytes == 0; }

// Elements [first, first + width) of an array, of which those from `count` on are not there.
template <class T>
CAIRN_DEVICE quad<T> load_quad(const T* from, std::size_t first, std::size_t count, bool whole) {
  if (whole) return *reinterpret_cast<const quad<T>*>(from + first);
  quad<T> v{};
  for (std::size_t j = 0; j < quad_width<T>; ++j)
    if (first + j < count) v.at[j] = from[first + j];
  return v;
}
template <class T>
CAIRN_DEVICE void store_quad(T* to, const quad<T>& v, std::size_t first, std::size_t count, bool whole) {
  if (whole) *reinterpret_cast<quad<T>*>(to + first) = v;
  else
    for (std::size_t j = 0; j < quad_width<T>; ++j)
      if (first + j < count) to[first + j] = v.at[j];
}

// The kernel of every function of elements: 16 bytes of each array at a time where all of them are aligned. Elements go through
// the same instructions wherever they lie.
template <class F, class T, std::size_t Results, std::size_t Operands>
struct each_element {
  static_assert(Results <= Operands, "elementwise: there are more results than operands; add operands");

  F f;
  std::size_t count;
  bool aligned;
  T* to[Results];
  const T* from[Operands];

  CAIRN_DEVICE void operator()(std::size_t index) const { run(index * quad_width<T>, std::make_index_sequence<Operands>{}); }

private:
  template <std::size_t... I>
  CAIRN_DEVICE void run(std::size_t first, std::index_sequence<I...>) const {
    const bool whole = aligned && first + quad_width<T> <= count;
    quad<T> v[Operands];
    for (std::size_t k = 0; k < Operands; ++k) v[k] = load_quad(from[k], first, count, whole);
    for (std::size_t j = 0; j < quad_width<T>; ++j) f(v[I].at[j]...);
    for (std::size_t k = 0; k < Results; ++k) store_quad(to[k], v[k], first, count, whole);
  }
};

// As detail::elementwise() of a cpu, whose function objects it takes.
template <std::size_t Results, class F, class T, std::size_t Operands>
void elementwise(cuda::queue& queue, const char* op, std::size_t count, const F& f, const std::array<T*, Results>& results,
                 const std::array<const T*, Operands>& sources) {
  each_element<F, T, Results, Operands> body{f, count, true, {}, {}};
  for (std::size_t k = 0; k < Results; ++k) body.to[k] = results[k], body.aligned = body.aligned && is_quad_aligned(results[k]);
  for (std::size_t k = 0; k < Operands; ++k)
    body.from[k] = sources[k], body.aligned = body.aligned && is_quad_aligned(sources[k]);
  launch_each(queue, op, (count + quad_width<T> - 1) / quad_width<T>, body);
}

} // namespace detail

template <std::floating_point T, class F, class... From>
void elementwise(cuda::queue& queue, std::size_t count, const F& f, T* to, const From*... from) {
  static_assert(sizeof...(From) > 0 && (std::same_as<T, From> && ...),
                "elementwise: expected at least one array to read, all of the element type that is written");
  static_assert(std::is_trivially_copyable_v<F>, "elementwise: the function is copied to the device, expected one that can be "
                                                 "copied byte by byte: give it numbers, not containers");
  detail::elementwise(queue, "elementwise", count, detail::leaves_result<F>{f}, std::array<T*, 1>{to},
                      std::array<const T*, sizeof...(From)>{from...});
}

} // namespace cairn
