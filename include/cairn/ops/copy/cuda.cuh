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

namespace cairn::ops {

template <class T>
void copy(cuda::queue& queue, std::size_t count, T* to, const T* from) {
  if (to == from || count == 0) return;
  const detail::gpu_in_use now = queue.use("copy");
  detail::check_cuda(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToDevice, queue.stream()), "copy");
}

template <class T>
void copy_matrix(cuda::queue& queue, matrix<T> to, std::type_identity_t<matrix<const T>> from) {
  detail::check_alike("copy_matrix", to, from);
  if (to.stride == to.columns && from.stride == to.columns) return copy(queue, to.rows * to.columns, to.data, from.data);
  if (to.data == from.data || to.rows == 0 || to.columns == 0) return;
  const detail::gpu_in_use now = queue.use("copy_matrix");
  detail::check_cuda(cudaMemcpy2DAsync(to.data, to.stride * sizeof(T), from.data, from.stride * sizeof(T), to.columns * sizeof(T),
                                       to.rows, cudaMemcpyDeviceToDevice, queue.stream()),
                     "copy_matrix");
}

} // namespace cairn::ops
