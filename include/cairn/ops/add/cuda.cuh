// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/add/cpu.hpp>
#include <cairn/ops/alike.hpp>
#include <cairn/ops/elementwise/cuda.cuh>

namespace cairn {

namespace detail {

// Rows that are apart have no alignment to count on.
template <class T>
struct add_apart {
  matrix<T> sum;
  matrix<const T> a, b;
  CAIRN_DEVICE void operator()(std::size_t i) const {
    const std::size_t row = i / sum.columns, column = i % sum.columns;
    sum(row, column) = a(row, column) + b(row, column);
  }
};

} // namespace detail

template <std::floating_point T>
void add(cuda::queue& queue, std::size_t count, T* sum, const std::type_identity_t<T>* a, const std::type_identity_t<T>* b) {
  detail::elementwise(queue, "add", count, detail::add_element{}, std::array{sum}, std::array{a, b});
}

template <std::floating_point T>
void add_matrix(cuda::queue& queue, matrix<T> sum, std::type_identity_t<matrix<const T>> a,
                std::type_identity_t<matrix<const T>> b) {
  detail::check_alike("add_matrix", sum, a);
  detail::check_alike("add_matrix", sum, b);
  const std::size_t columns = sum.columns;
  if (sum.stride == columns && a.stride == columns && b.stride == columns)
    return add(queue, sum.rows * columns, sum.data, a.data, b.data);
  detail::launch_each(queue, "add_matrix", sum.rows * columns, detail::add_apart<T>{sum, a, b});
}

} // namespace cairn
