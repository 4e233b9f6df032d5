// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <cublasLt.h>

#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/device/cuda/error.cuh>
#include <cairn/device/cuda/memory.cuh>

namespace cairn::detail {

// Everything that the choice of a product's algorithm depends on: constants of a layer and its batch. The activation after it,
// an addend and the place of the operands have no influence: a product has the same bits whatever the checkpoint policy makes of
// the layer that follows.
struct product_key {
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t lda = 0, ldb = 0, ldc = 0;
  bool transposes_a = false, transposes_b = false;
  std::uint64_t types = 0; // of operands and result
  bool allows_tf32 = false;
  bool aligned = false;     // all operands, and all their rows, to 16 bytes
  bool adds_vector = false; // a bias in a forward pass, or the row sums that are its gradient

  bool operator==(const product_key&) const = default;

  std::uint64_t hash() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t part :
         {m, n, k, lda, ldb, ldc, types,
          std::uint64_t{transposes_a} | std::uint64_t{transposes_b} << 1 | std::uint64_t{allows_tf32} << 3 |
              std::uint64_t{aligned} << 4 | std::uint64_t{adds_vector} << 5})
      sum = (sum ^ part) * 0x9E3779B97F4A7C15U, sum ^= sum >> 29;
    return sum;
  }
};

// The algorithm of a product. Without `fuses` a separate kernel applies the epilogue, in every call with this key.
struct product_algorithm {
  cublasLtMatmulAlgo_t how{};
  bool fuses = false;
};

// The resources of a queue for products: cuBLASLt's handle, memory for partial results, and the algorithms found so far. All of
// it is allocated at the start.
class cuda_products {
public:
  static constexpr std::size_t workspace_bytes = 32_MiB; // NVIDIA's recommendation for Hopper
  static constexpr std::size_t most = 1024;

  cuda_products(int ordinal, cudaStream_t stream) : workspace_(ordinal, workspace_bytes, stream), slots_(new slot[most]) {
    check_cublas(cublasLtCreate(&handle_), "matmul");
  }
  cuda_products(const cuda_products&) = delete;
  cuda_products& operator=(const cuda_products&) = delete;
  ~cuda_products() { cublasLtDestroy(handle_); }

  cublasLtHandle_t handle() const { return handle_; }
  void* workspace() const { return workspace_.data(); }

  // Returns the algorithm of this key; choose() finds it if it is not known yet. It is kept for as long as the queue lives.
  // When the table is full, choose() is called again in every call with an unknown key.
  template <class Choose>
  product_algorithm algorithm(const product_key& key, const Choose& choose) {
    const std::size_t first = key.hash() % most;
    for (std::size_t i = 0; i < most; ++i) {
      slot& s = slots_[(first + i) % most];
      if (s.used && s.key == key) return s.value;
      if (s.used) continue;
      s.value = choose();
      s.key = key;
      s.used = true;
      return s.value;
    }
    return choose();
  }

private:
  struct slot {
    product_key key;
    product_algorithm value;
    bool used = false;
  };

  cublasLtHandle_t handle_ = nullptr;
  cuda_block<on_gpu> workspace_;
  std::unique_ptr<slot[]> slots_;
};

} // namespace cairn::detail
