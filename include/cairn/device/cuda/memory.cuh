// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda/error.cuh>
#include <cairn/device/cuda/in_use.cuh>

namespace cairn::detail {

// Allocation and release of the two kinds of memory.
struct on_gpu {
  static void* take(std::size_t bytes, cudaStream_t zeroing) {
    void* block = nullptr;
    check_cuda(cudaMalloc(&block, bytes), "allocate");
    // Not on the default stream, which waits for all others. After the synchronisation every queue sees the zeros.
    cudaError_t code = cudaMemsetAsync(block, 0, bytes, zeroing);
    if (code == cudaSuccess) code = cudaStreamSynchronize(zeroing);
    if (code != cudaSuccess) cudaFree(block);
    check_cuda(code, "allocate");
    return block;
  }
  static void give_back(void* block) { cudaFree(block); }
};
struct pinned_on_host {
  static void* take(std::size_t bytes, cudaStream_t) {
    void* block = nullptr;
    check_cuda(cudaHostAlloc(&block, bytes, cudaHostAllocDefault), "staging");
    std::memset(block, 0, bytes);
    return block;
  }
  static void give_back(void* block) { cudaFreeHost(block); }
};

// A block of bytes of one GPU, or of the host for one GPU; zero at first, 256-byte aligned.
template <class Place>
class cuda_block {
public:
  cuda_block() = default;
  cuda_block(int ordinal, std::size_t bytes, cudaStream_t zeroing) : size_(bytes), ordinal_(ordinal) {
    if (bytes == 0) return;
    const gpu_in_use here(ordinal, "allocate");
    data_ = static_cast<std::byte*>(Place::take(bytes, zeroing));
  }
  cuda_block(cuda_block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), ordinal_(other.ordinal_) {}
  cuda_block& operator=(cuda_block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(ordinal_, other.ordinal_);
    return *this;
  }
  ~cuda_block() {
    if (data_ == nullptr) return;
    const gpu_in_use here(ordinal_);
    if (here.is_current()) Place::give_back(data_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int ordinal_ = 0;
};

} // namespace cairn::detail
