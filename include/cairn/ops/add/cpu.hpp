// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/alike.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/cuts.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct add_element {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& a, T b) const {
    a += b;
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void add(cpu::queue& queue, std::size_t count, T* sum, const std::type_identity_t<T>* a, const std::type_identity_t<T>* b) {
  detail::elementwise(queue, count, detail::add_element{}, std::array{sum}, std::array{a, b});
}

template <class T>
void add_matrix(cpu::queue& queue, matrix<T> sum, std::type_identity_t<matrix<const T>> a,
                std::type_identity_t<matrix<const T>> b) {
  detail::check_alike("add_matrix", sum, a);
  detail::check_alike("add_matrix", sum, b);
  const std::size_t columns = sum.columns;
  if (sum.stride == columns && a.stride == columns && b.stride == columns)
    return add(queue, sum.rows * columns, sum.data, a.data, b.data);
  const detail::instruction_set set = detail::widest_for_elements();
  detail::for_each_row(
      queue, sum.rows, columns,
      [&](std::size_t row) {
        detail::run_elements(set, detail::add_element{}, columns, std::array{&sum(row, 0)}, std::array{&a(row, 0), &b(row, 0)});
      },
      detail::element_part);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
