// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/transfer/transfer.hpp>

namespace cairn::ops {

// With memory from staging() the host continues at once; with other memory of the host the runtime may make it wait.
template <class T>
void upload(cuda::queue& queue, std::size_t count, T* to, const T* from) {
  if (count == 0) return;
  const detail::gpu_in_use now = queue.use("upload");
  detail::check_cuda(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, queue.stream()), "upload");
}

template <class T>
void download(cuda::queue& queue, std::size_t count, T* to, const T* from) {
  if (count == 0) return;
  const detail::gpu_in_use now = queue.use("download");
  detail::check_cuda(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToHost, queue.stream()), "download");
}

} // namespace cairn::ops
