// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/device/cuda/quad.cuh>

namespace cairn::detail {

// Elements of 16 bits in a kernel: eight of them are a quad. Arithmetic is in float, and a result is rounded once, when it is
// stored. The conversions are a cpu's, and need no instruction of newer GPUs. For float and double the functions here change
// nothing, so that one kernel serves all types.
template <class T>
CAIRN_DEVICE accumulated<T> widened(T x) {
  return static_cast<accumulated<T>>(x);
}

// The elements of a quad in registers.
template <class T>
struct wide_quad {
  accumulated<T> at[quad_width<T>];
};
template <class T>
CAIRN_DEVICE wide_quad<T> load_wide(const T* from, std::size_t first, std::size_t count, bool aligned) {
  const quad<T> v = load_quad(from, first, count, aligned);
  wide_quad<T> w;
  for (std::size_t j = 0; j < quad_width<T>; ++j) w.at[j] = widened(v.at[j]);
  return w;
}
template <class T>
CAIRN_DEVICE void store_wide(T* to, const wide_quad<T>& w, std::size_t first, std::size_t count, bool aligned) {
  quad<T> v;
  for (std::size_t j = 0; j < quad_width<T>; ++j) v.at[j] = static_cast<T>(w.at[j]);
  store_quad(to, v, first, count, aligned);
}
// As many elements of a wider array, such as targets or sums, as a quad of T has.
template <class T>
CAIRN_DEVICE wide_quad<T> load_sums(const accumulated<T>* from, std::size_t first, std::size_t count, bool aligned) {
  using sum = accumulated<T>;
  wide_quad<T> w;
  for (std::size_t part = 0; part < quad_width<T>; part += quad_width<sum>) {
    const quad<sum> v = load_quad(from, first + part, count, aligned);
    for (std::size_t j = 0; j < quad_width<sum>; ++j) w.at[part + j] = v.at[j];
  }
  return w;
}
template <class T>
CAIRN_DEVICE void store_sums(accumulated<T>* to, const wide_quad<T>& w, std::size_t first, std::size_t count, bool aligned) {
  using sum = accumulated<T>;
  for (std::size_t part = 0; part < quad_width<T>; part += quad_width<sum>) {
    quad<sum> v;
    for (std::size_t j = 0; j < quad_width<sum>; ++j) v.at[j] = w.at[part + j];
    store_quad(to, v, first + part, count, aligned);
  }
}

// As many elements of T as a quad of sums has, for kernels whose tiles in shared memory hold sums: of 16 bits half a quad.
template <class T>
struct alignas(sizeof(T) * quad_width<accumulated<T>>) part_of_quad {
  T at[quad_width<accumulated<T>>];
};
template <class T>
CAIRN_DEVICE quad<accumulated<T>> widened(const part_of_quad<T>& v) {
  quad<accumulated<T>> w;
  for (std::size_t j = 0; j < quad_width<accumulated<T>>; ++j) w.at[j] = widened(v.at[j]);
  return w;
}
// Loads them where they lie at a multiple of their size.
template <class T>
CAIRN_DEVICE quad<accumulated<T>> load_part(const T* from) {
  if constexpr (!is_narrow<T>) return *reinterpret_cast<const quad<T>*>(from);
  else return widened(*reinterpret_cast<const part_of_quad<T>*>(from));
}
// Loads elements [first, first + width) of an array of `count`; see load_quad.
template <class T>
CAIRN_DEVICE quad<accumulated<T>> load_part(const T* from, std::size_t first, std::size_t count, bool aligned) {
  if (aligned && first + quad_width<accumulated<T>> <= count) return load_part(from + first);
  quad<accumulated<T>> w{};
  for (std::size_t j = 0; j < quad_width<accumulated<T>>; ++j)
    if (first + j < count) w.at[j] = widened(from[first + j]);
  return w;
}
// See put_quad.
template <class T>
CAIRN_DEVICE void put_part(T* to, const part_of_quad<T>& v) {
#if defined(__CUDACC__)
  const auto pair = [&v](int j) { return std::uint32_t{v.at[j].bits} | std::uint32_t{v.at[j + 1].bits} << 16; };
  __stwb(reinterpret_cast<uint2*>(to), uint2{pair(0), pair(2)});
#else
  *reinterpret_cast<part_of_quad<T>*>(to) = v;
#endif
}
// Stores elements [first, first + width) of an array of `count`, rounded; see store_quad.
template <class T>
CAIRN_DEVICE void store_part(T* to, const quad<accumulated<T>>& w, std::size_t first, std::size_t count, bool aligned) {
  if constexpr (!is_narrow<T>) {
    store_quad(to, w, first, count, aligned);
  } else {
    part_of_quad<T> v;
    for (std::size_t j = 0; j < quad_width<accumulated<T>>; ++j) v.at[j] = static_cast<T>(w.at[j]);
    if (aligned && first + quad_width<accumulated<T>> <= count) return put_part(to + first, v);
    for (std::size_t j = 0; j < quad_width<accumulated<T>>; ++j)
      if (first + j < count) to[first + j] = v.at[j];
  }
}

} // namespace cairn::detail
