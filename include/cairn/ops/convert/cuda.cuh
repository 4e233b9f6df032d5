// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/convert/convert.hpp>

namespace cairn::detail {

// Eight elements a thread, between 16 bits and float.
template <class T>
struct widen_elements {
  std::size_t count;
  bool aligned;
  accumulated<T>* to;
  const T* from;
  CAIRN_DEVICE void operator()(std::size_t q) const {
    const std::size_t first = q * quad_width<T>;
    store_sums<T>(to, load_wide(from, first, count, aligned), first, count, aligned);
  }
};
template <class T>
struct round_elements {
  std::size_t count;
  bool aligned;
  T* to;
  const accumulated<T>* from;
  CAIRN_DEVICE void operator()(std::size_t q) const {
    const std::size_t first = q * quad_width<T>;
    store_wide(to, load_sums<T>(from, first, count, aligned), first, count, aligned);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <class To, detail::narrow_element From>
  requires std::is_same_v<To, accumulated<From>>
void convert(cuda::queue& queue, std::size_t count, To* to, const From* from) {
  detail::launch_each(queue, "convert", detail::quads_for<From>(count),
                      detail::widen_elements<From>{count, detail::are_quads(to, from), to, from});
}
template <detail::narrow_element To, class From>
  requires std::is_same_v<From, accumulated<To>>
void convert(cuda::queue& queue, std::size_t count, To* to, const From* from) {
  detail::launch_each(queue, "convert", detail::quads_for<To>(count),
                      detail::round_elements<To>{count, detail::are_quads(to, from), to, from});
}

} // namespace cairn::ops
