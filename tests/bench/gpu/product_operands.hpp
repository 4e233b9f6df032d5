// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <cairn/device/cuda.cuh>
#include <cairn/ops/matmul/matmul.hpp>
#include <cairn/ops/transfer/cuda.cuh>

#include "product_sizes.hpp"

namespace gpu_bench {

// Memory of the GPU for the largest of some products: a result, two operands, and a vector, all of the same numbers at first.
class product_operands {
public:
  product_operands(cairn::cuda& device, const std::vector<product>& all) : queue_(device.compute()) {
    std::size_t most = 0;
    for (const product& p : all) most = std::max({most, p.m * p.k, p.k * p.n, p.m * p.n});
    numbers_.resize(most);
    for (std::size_t i = 0; i < most; ++i) numbers_[i] = static_cast<float>(((i * 0x9E3779B9U) >> 8) & 0xFFFFU) * 0x1p-15F - 1;
    for (cairn::cuda::memory& m : memory_) {
      m = device.allocate(most * sizeof(float));
      send(reinterpret_cast<float*>(m.data()), numbers_);
    }
  }

  cairn::cuda::queue& queue() const { return queue_; }
  const std::vector<float>& numbers() const { return numbers_; }

  cairn::ops::matrix<float> result(const product& p) const { return {at(0), p.m, p.n}; }
  float* first() const { return at(1); }
  float* vector() const { return at(3); }
  cairn::ops::matrix<const float> a(const product& p) const {
    const bool is_turned = p.form == cairn::ops::transpose::first;
    return {first(), is_turned ? p.k : p.m, is_turned ? p.m : p.k};
  }
  cairn::ops::matrix<const float> b(const product& p) const {
    const bool is_turned = p.form == cairn::ops::transpose::second;
    return {at(2), is_turned ? p.n : p.k, is_turned ? p.k : p.n};
  }

  void send(float* to, const std::vector<float>& from) {
    upload(queue_, from.size(), to, from.data());
    queue_.finish();
  }
  std::vector<float> read(const float* from, std::size_t count) {
    std::vector<float> found(count);
    download(queue_, count, found.data(), from);
    queue_.finish();
    return found;
  }

private:
  float* at(std::size_t i) const { return reinterpret_cast<float*>(memory_[i].data()); }

  cairn::cuda::queue& queue_;
  std::vector<float> numbers_;
  cairn::cuda::memory memory_[4];
};

} // namespace gpu_bench
