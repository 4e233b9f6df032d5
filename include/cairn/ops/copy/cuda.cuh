// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/alike.hpp>
#include <cairn/ops/copy/copy.hpp>

namespace cairn::detail {

// A copy of rows from the memory of a GPU to itself, as work of a queue.
struct copied_rows {
  void* to;
  const void* from;
  std::size_t to_pitch, from_pitch, width, rows; // bytes, but for the rows

  void operator()(const char* op, const cuda_place& on) const {
    check_cuda(rows == 1 ? cudaMemcpyAsync(to, from, width, cudaMemcpyDeviceToDevice, on.stream)
                         : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, cudaMemcpyDeviceToDevice, on.stream),
               op);
  }
  bool operator==(const copied_rows&) const = default;
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void copy(cuda::queue& queue, std::size_t count, T* to, const T* from) {
  if (to == from || count == 0) return;
  queue.put("copy", detail::copied_rows{to, from, 0, 0, count * sizeof(T), 1});
}

template <class T>
void copy_matrix(cuda::queue& queue, matrix<T> to, std::type_identity_t<matrix<const T>> from) {
  detail::check_alike("copy_matrix", to, from);
  if (to.stride == to.columns && from.stride == to.columns) return copy(queue, to.rows * to.columns, to.data, from.data);
  if (to.data == from.data || to.rows == 0 || to.columns == 0) return;
  queue.put("copy_matrix", detail::copied_rows{to.data, from.data, to.stride * sizeof(T), from.stride * sizeof(T),
                                               to.columns * sizeof(T), to.rows});
}

} // namespace cairn::ops
