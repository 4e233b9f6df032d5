// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// A quad is what a GPU loads and stores in one instruction: 4 floats, 2 doubles, or 8 elements of 16 bits. Kernels that are bound
// by memory take 16 bytes of each array at a time if addresses allow it, otherwise element after element. The order and the
// result are the same.
inline constexpr std::size_t quad_bytes = 16;
template <class T>
inline constexpr std::size_t quad_width = quad_bytes / sizeof(T);
template <class T>
struct alignas(quad_bytes) quad {
  T at[quad_width<T>];
};

// The number of quads that hold `count` elements; the last may be partly filled.
template <class T>
CAIRN_HOST_DEVICE constexpr std::size_t quads_for(std::size_t count) {
  return (count + quad_width<T> - 1) / quad_width<T>;
}

template <class... P>
bool are_quads(const P*... at) {
  return (... && (reinterpret_cast<std::uintptr_t>(at) % quad_bytes == 0));
}
// Whether every row of arrays with this number of columns begins at a multiple of 16 bytes. A null pointer, an absent array,
// counts as aligned.
template <class T, class... P>
bool rows_are_quads(std::size_t columns, const P*... at) {
  return columns % quad_width<T> == 0 && are_quads(at...);
}

// Loads elements [first, first + width) of an array of `count`; those beyond its end are 0. `aligned` describes the array:
// `first` is always a multiple of the width.
template <class T>
CAIRN_DEVICE quad<T> load_quad(const T* from, std::size_t first, std::size_t count, bool aligned) {
  if (aligned && first + quad_width<T> <= count) return *reinterpret_cast<const quad<T>*>(from + first);
  quad<T> v{};
  for (std::size_t j = 0; j < quad_width<T>; ++j)
    if (first + j < count) v.at[j] = from[first + j];
  return v;
}
// Uses CUDA's own store: nvcc would split the copy of a struct, and merge it with the loop over the last elements.
#if defined(__CUDACC__)
__device__ inline void put_quad(float* to, const quad<float>& v) {
  __stwb(reinterpret_cast<float4*>(to), float4{v.at[0], v.at[1], v.at[2], v.at[3]});
}
__device__ inline void put_quad(double* to, const quad<double>& v) {
  __stwb(reinterpret_cast<double2*>(to), double2{v.at[0], v.at[1]});
}
template <class T>
  requires(sizeof(T) == 2)
__device__ void put_quad(T* to, const quad<T>& v) {
  const auto pair = [&v](int j) { return std::uint32_t{v.at[j].bits} | std::uint32_t{v.at[j + 1].bits} << 16; };
  __stwb(reinterpret_cast<uint4*>(to), uint4{pair(0), pair(2), pair(4), pair(6)});
}
#else
template <class T>
void put_quad(T* to, const quad<T>& v) {
  *reinterpret_cast<quad<T>*>(to) = v;
}
#endif
// The same for memory that a block shares.
#if defined(__CUDACC__)
__device__ inline void put_in_shared(float* to, const quad<float>& v) {
  *reinterpret_cast<float4*>(to) = float4{v.at[0], v.at[1], v.at[2], v.at[3]};
}
__device__ inline void put_in_shared(double* to, const quad<double>& v) {
  *reinterpret_cast<double2*>(to) = double2{v.at[0], v.at[1]};
}
#else
template <class T>
void put_in_shared(T* to, const quad<T>& v) {
  put_quad(to, v);
}
#endif
template <class T>
CAIRN_DEVICE void store_quad(T* to, const quad<T>& v, std::size_t first, std::size_t count, bool aligned) {
  if (aligned && first + quad_width<T> <= count) return put_quad(to + first, v);
  for (std::size_t j = 0; j < quad_width<T>; ++j)
    if (first + j < count) to[first + j] = v.at[j];
}

} // namespace cairn::detail
