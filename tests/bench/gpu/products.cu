// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>
#include <vector>

#include <cairn/ops/matmul/cuda.cuh>

#include "parts.hpp"
#include "product_operands.hpp"
#include "product_sizes.hpp"

namespace gpu_bench {

using namespace cairn;

void list_products(const request& asked) {
  for (const product& p : all_products(asked)) std::printf("product %s: %s\n", p.name(), p.shape().c_str());
}

void measure_products(cairn::cuda& device, const request& asked) {
  const std::vector<product> all = all_products(asked);
  const product_operands with(device, all);
  cuda::queue& queue = with.queue();
  table rows({"form", "m x n x k", "float ms", "GFLOP/s", "TF32 ms", "GFLOP/s"});
  for (const product& p : all) {
    const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    std::vector<std::string> cells{p.name(), p.shape()};
    for (const bool tf32 : {false, true}) {
      queue.allow_tf32(tf32);
      const double ms =
          milliseconds([&] { matmul(queue, with.result(p), with.a(p), with.b(p), p.form); }, [&] { queue.finish(); }, 10, 5);
      queue.allow_tf32(false);
      cells.push_back(number(ms));
      cells.push_back(number(flops / ms / 1e6));
    }
    rows.row(cells);
  }
}

} // namespace gpu_bench
