// SPDX-License-Identifier: MIT
#pragma once

#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda/error.cuh>

namespace cairn::detail {

// While one lives, this GPU is the calling thread's current one, as the runtime requires of most calls. Then the one that the
// program had chosen is the current one again. Within another one for the same GPU it only asks which is current.
class gpu_in_use {
public:
  gpu_in_use(int ordinal, const char* op) {
    int before = 0;
    check_cuda(cudaGetDevice(&before), op);
    if (before == ordinal) return;
    check_cuda(cudaSetDevice(ordinal), op);
    before_ = before;
  }
  // For destructors: is_current() says whether it succeeded.
  explicit gpu_in_use(int ordinal) noexcept {
    int before = 0;
    is_current_ = cudaGetDevice(&before) == cudaSuccess && (before == ordinal || cudaSetDevice(ordinal) == cudaSuccess);
    if (is_current_ && before != ordinal) before_ = before;
  }
  gpu_in_use(const gpu_in_use&) = delete;
  gpu_in_use& operator=(const gpu_in_use&) = delete;
  ~gpu_in_use() {
    if (before_ >= 0) static_cast<void>(cudaSetDevice(before_));
  }

  bool is_current() const { return is_current_; }

private:
  int before_ = -1; // the program's choice, if it was another one
  bool is_current_ = true;
};

} // namespace cairn::detail
