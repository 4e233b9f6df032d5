// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// What a GPU loads and stores in one instruction: 4 floats, or 2 doubles. Kernels that are bound by memory take 16 bytes of each
// array at a time where addresses allow it, and element after element where they do not, in one order and with one result.
inline constexpr std::size_t quad_bytes = 16;
template <class T>
inline constexpr std::size_t quad_width = quad_bytes / sizeof(T);
template <class T>
struct alignas(quad_bytes) quad {
  T at[quad_width<T>];
};

// How many hold so many elements, the last of which may not be full.
template <class T>
CAIRN_HOST_DEVICE constexpr std::size_t quads_for(std::size_t count) {
  return (count + quad_width<T> - 1) / quad_width<T>;
}

template <class... P>
bool are_quads(const P*... at) {
  return (... && (reinterpret_cast<std::uintptr_t>(at) % quad_bytes == 0));
}
// Whether every row of arrays of so many columns begins at a multiple of 16 bytes; null is an array that is not there.
template <class T, class... P>
bool rows_are_quads(std::size_t columns, const P*... at) {
  return columns % quad_width<T> == 0 && are_quads(at...);
}

// Elements [first, first + width) of an array of `count`, of which those behind the last are not there. `aligned` says of the
// array, not of the place: `first` is a multiple of the width.
template <class T>
CAIRN_DEVICE quad<T> load_quad(const T* from, std::size_t first, std::size_t count, bool aligned) {
  if (aligned && first + quad_width<T> <= count) return *reinterpret_cast<const quad<T>*>(from + first);
  quad<T> v{};
  for (std::size_t j = 0; j < quad_width<T>; ++j)
    if (first + j < count) v.at[j] = from[first + j];
  return v;
}
// By what CUDA has for it: nvcc would take the copy of a struct apart, and make one code of it and of a loop over the last ones.
#if defined(__CUDACC__)
__device__ inline void put_quad(float* to, const quad<float>& v) {
  __stwb(reinterpret_cast<float4*>(to), float4{v.at[0], v.at[1], v.at[2], v.at[3]});
}
__device__ inline void put_quad(double* to, const quad<double>& v) {
  __stwb(reinterpret_cast<double2*>(to), double2{v.at[0], v.at[1]});
}
#else
template <class T>
void put_quad(T* to, const quad<T>& v) {
  *reinterpret_cast<quad<T>*>(to) = v;
}
#endif
template <class T>
CAIRN_DEVICE void store_quad(T* to, const quad<T>& v, std::size_t first, std::size_t count, bool aligned) {
  if (aligned && first + quad_width<T> <= count) return put_quad(to + first, v);
  for (std::size_t j = 0; j < quad_width<T>; ++j)
    if (first + j < count) to[first + j] = v.at[j];
}

} // namespace cairn::detail
