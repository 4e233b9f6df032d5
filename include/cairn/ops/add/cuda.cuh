// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/device/cuda/sixteen_bits.cuh>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/add/cpu.hpp>
#include <cairn/ops/alike.hpp>
#include <cairn/ops/elementwise/cuda.cuh>

namespace cairn::detail {

template <class T>
struct add_apart {
  matrix<T> sum;
  matrix<const T> a, b;
  divisor quads; // in a row
  bool aligned;  // every row of all three
  CAIRN_DEVICE void operator()(std::size_t index) const {
    const std::size_t row = quads.of(index), first = quads.rest(index, row) * quad_width<T>;
    wide_quad<T> v = load_wide(a.data + row * a.stride, first, sum.columns, aligned);
    const wide_quad<T> w = load_wide(b.data + row * b.stride, first, sum.columns, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j) v.at[j] += w.at[j];
    store_wide(sum.data + row * sum.stride, v, first, sum.columns, aligned);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <detail::floating_element T>
void add(cuda::queue& queue, std::size_t count, T* sum, const std::type_identity_t<T>* a, const std::type_identity_t<T>* b) {
  detail::elementwise(queue, "add", count, detail::add_element{}, std::array{sum}, std::array{a, b});
}

template <detail::floating_element T>
void add_matrix(cuda::queue& queue, matrix<T> sum, std::type_identity_t<matrix<const T>> a,
                std::type_identity_t<matrix<const T>> b) {
  detail::check_alike("add_matrix", sum, a);
  detail::check_alike("add_matrix", sum, b);
  const std::size_t columns = sum.columns;
  if (sum.stride == columns && a.stride == columns && b.stride == columns)
    return add(queue, sum.rows * columns, sum.data, a.data, b.data);
  const std::size_t quads = detail::quads_for<T>(columns);
  const bool aligned =
      detail::are_quads(sum.data, a.data, b.data) && (sum.stride | a.stride | b.stride) % detail::quad_width<T> == 0;
  detail::launch_each(queue, "add_matrix", sum.rows * quads, detail::add_apart<T>{sum, a, b, quads, aligned});
}

} // namespace cairn::ops
