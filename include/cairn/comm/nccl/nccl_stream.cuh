// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/error.cuh>
#include <cairn/device/cuda/in_use.cuh>
#include <cairn/device/cuda/launch.cuh>

namespace cairn::detail {

// The stream on which a rank's calls run. It has the highest priority, so that the small kernels of a sum do not wait until the
// large ones of a backward pass leave multiprocessors free. (Rejected: a cuda::queue, which has 64 events: a step may
// have more calls in flight.)
class nccl_stream {
public:
  explicit nccl_stream(int ordinal) : ordinal_(ordinal) {
    const gpu_in_use now = use();
    int lowest = 0, highest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), op);
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest), op);
  }
  nccl_stream(const nccl_stream&) = delete;
  nccl_stream& operator=(const nccl_stream&) = delete;
  ~nccl_stream() {
    const gpu_in_use now(ordinal_);
    if (now.is_current()) cudaStreamDestroy(stream_);
  }

  static constexpr const char* op = "nccl";

  int ordinal() const { return ordinal_; }
  cudaStream_t get() const { return stream_; }
  // While the result lives, this GPU is the calling thread's current one, as the runtime and NCCL require.
  [[nodiscard]] gpu_in_use use() const { return {ordinal_, op}; }

  void wait(const cuda::event& e) const {
    const gpu_in_use now = use();
    if (e.place != nullptr) check_cuda(cudaStreamWaitEvent(stream_, e.place, cudaEventWaitDefault), op);
  }
  void record(cudaEvent_t e) const {
    const gpu_in_use now = use();
    check_cuda(cudaEventRecord(e, stream_), op);
  }
  // Whether the event's place has been reached. Throws device_error if work before it failed.
  bool reached(cudaEvent_t e) const {
    const gpu_in_use now = use();
    const cudaError_t code = cudaEventQuery(e);
    if (code == cudaErrorNotReady) { // not an error, but cudaGetLastError() would still return it
      static_cast<void>(cudaGetLastError());
      return false;
    }
    check_cuda(code, op);
    return true;
  }
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    const gpu_in_use now = use();
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream_), op);
  }
  // Runs body(i) for every i in [0, count), as launch_each does on a queue.
  template <class Body>
  void launch(std::size_t count, const Body& body) const {
    if (count == 0) return;
    const gpu_in_use now = use();
    each_of<Body> work{body, count};
    cudaLaunchConfig_t how{};
    how.gridDim = dim3(static_cast<unsigned>((count + each_threads - 1) / each_threads), 1, 1);
    how.blockDim = dim3(each_threads, 1, 1);
    how.stream = stream_;
    void* arguments[] = {&work};
    check_cuda(cudaLaunchKernelExC(&how, each_kernel<Body>(), arguments), op);
  }

private:
  int ordinal_;
  cudaStream_t stream_ = nullptr;
};

} // namespace cairn::detail
