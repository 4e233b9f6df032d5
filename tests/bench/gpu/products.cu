// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/ops/matmul/cuda.cuh>
#include <cairn/ops/transfer/cuda.cuh>

#include "parts.hpp"
#include "product_sizes.hpp"

namespace gpu_bench {

using namespace cairn;

void list_products(const request& asked) {
  for (const product& p : all_products(asked)) std::printf("product %s: %s\n", p.name(), p.shape().c_str());
}

void measure_products(cairn::cuda& device, const request& asked) {
  std::size_t most = 0;
  for (const product& p : all_products(asked)) most = std::max({most, p.m * p.k, p.k * p.n, p.m * p.n});
  std::vector<float> numbers(most);
  for (std::size_t i = 0; i < most; ++i) numbers[i] = static_cast<float>(((i * 0x9E3779B9U) >> 8) & 0xFFFFU) * 0x1p-15F - 1;
  cuda::memory memory[3];
  for (cuda::memory& m : memory) {
    m = device.allocate(most * sizeof(float));
    upload(device.compute(), most, reinterpret_cast<float*>(m.data()), static_cast<const float*>(numbers.data()));
    device.compute().finish();
  }
  const auto at = [&](std::size_t i) { return reinterpret_cast<float*>(memory[i].data()); };
  table rows({"form", "m x n x k", "float ms", "GFLOP/s", "TF32 ms", "GFLOP/s"});
  for (const product& p : all_products(asked)) {
    const bool first = p.form == ops::transpose::first, second = p.form == ops::transpose::second;
    const ops::matrix<const float> a(at(0), first ? p.k : p.m, first ? p.m : p.k),
        b(at(1), second ? p.n : p.k, second ? p.k : p.n);
    const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    std::vector<std::string> cells{p.name(), p.shape()};
    for (const bool tf32 : {false, true}) {
      cuda::queue& queue = device.compute();
      queue.allow_tf32(tf32);
      const double ms =
          milliseconds([&] { matmul(queue, ops::matrix<float>(at(2), p.m, p.n), a, b, p.form); }, [&] { queue.finish(); }, 10, 5);
      queue.allow_tf32(false);
      cells.push_back(number(ms));
      cells.push_back(number(flops / ms / 1e6));
    }
    rows.row(cells);
  }
}

} // namespace gpu_bench
