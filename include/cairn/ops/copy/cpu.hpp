// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/alike.hpp>
#include <cairn/ops/copy/copy.hpp>
#include <cairn/ops/elementwise/cuts.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

template <class T>
void copy(cpu::queue& queue, std::size_t count, T* to, const T* from) {
  if (to == from) return;
  constexpr std::size_t longest = 1_MiB / sizeof(T); // shorter parts cost more to hand out than to copy
  queue.parallel_for((count + longest - 1) / longest, [&](std::size_t part, auto) {
    const std::size_t begin = part * longest;
    std::memcpy(to + begin, from + begin, std::min(longest, count - begin) * sizeof(T));
  });
}

template <class T>
void copy_matrix(cpu::queue& queue, matrix<T> to, std::type_identity_t<matrix<const T>> from) {
  detail::check_alike("copy_matrix", to, from);
  const std::size_t columns = to.columns;
  if (to.stride == columns && from.stride == columns) return copy(queue, to.rows * columns, to.data, from.data);
  if (to.data == from.data) return;
  detail::for_each_row(
      queue, to.rows, columns, [&](std::size_t row) { std::memcpy(&to(row, 0), &from(row, 0), columns * sizeof(T)); },
      1_MiB / sizeof(T));
}

} // namespace cairn::ops

CAIRN_KERNELS_END
