// SPDX-License-Identifier: MIT
// Prints what training steps cost a GPU, counted by the emulator, as a table in Markdown: the networks of tests/bench/gpu. The
// time that it implies is computed, for one named card, and not measured: that of a card which always does the most it can.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include <cairn/cairn_cuda.cuh>

#include "../../bench/gpu/networks.hpp"
#include "emulator.hpp"

namespace {

using namespace cairn;

// An NVIDIA H100 SXM: 132 multiprocessors, each of which begins 4 instructions of a warp a clock, and 128 multiply-adds.
namespace card {
constexpr double clocks = 1.98e9, warp_instructions = 132 * 4 * clocks, multiply_adds = 132 * 128 * clocks, bytes = 3.35e12;
}

struct step_cost {
  std::uint64_t kernels = 0, products = 0;
  double warp_instructions = 0, bytes_of_kernels = 0, multiply_adds = 0, bytes_of_products = 0;
  double seconds_of_kernels = 0, seconds_of_products = 0;
};

template <class Model, std::size_t Batch>
step_cost cost_of() {
  using type = trainer<Model, CrossEntropyLoss, SGD, batch<Batch>, float, cuda>;
  type train{gpu_bench::sgd_of_steps, {.graphs = false}};
  const gpu_bench::random_batch data(Batch, type::input_shape.size());
  const auto step = [&] {
    train.step(data.x, data.y);
    train.wait();
  };
  step(); // the first one also makes what the others find
  const auto costs = emulator::costs_of(step);
  step_cost all;
  for (const auto& [name, c] : costs) {
    const double warps = static_cast<double>(c.instructions) / 32;
    if (c.multiply_adds > 0) { // each operand once
      const auto bytes = static_cast<double>(c.loads.bytes + c.stores.bytes), sums = static_cast<double>(c.multiply_adds);
      all.products += c.launches;
      all.multiply_adds += sums;
      all.bytes_of_products += bytes;
      all.seconds_of_products += std::max(sums / card::multiply_adds, bytes / card::bytes);
    } else { // whole sectors
      const auto bytes = 32 * static_cast<double>(c.loads.sectors + c.stores.sectors);
      all.kernels += c.launches;
      all.warp_instructions += warps;
      all.bytes_of_kernels += bytes;
      all.seconds_of_kernels += std::max(warps / card::warp_instructions, bytes / card::bytes);
    }
  }
  return all;
}

void row(const char* network, const char* policy, std::size_t batch, const step_cost& c) {
  std::printf("| %s | %s | %zu | %llu | %llu | %.2f | %.1f | %.2f | %.1f | %.1f | %.1f | %.1f |\n", network, policy, batch,
              static_cast<unsigned long long>(c.kernels), static_cast<unsigned long long>(c.products), c.warp_instructions / 1e6,
              c.bytes_of_kernels / 0x1p20, 2 * c.multiply_adds / 1e9, c.bytes_of_products / 0x1p20, 1e6 * c.seconds_of_kernels,
              1e6 * c.seconds_of_products, 1e6 * (c.seconds_of_kernels + c.seconds_of_products));
  std::fflush(stdout);
}

} // namespace

int main() {
  try {
    std::printf("| network | policy | batch | kernels | products | M warp instructions | MiB of kernels | GFLOP of products | "
                "MiB of products | kernels, us | products, us | all, us |\n");
    std::printf("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    using gpu_bench::chain, gpu_bench::mlp;
    row("mlp", "store_all", 128, cost_of<mlp, 128>());
    row("mlp", "sqrt_n", 128, cost_of<checkpoint<sqrt_n, mlp>, 128>());
    row("chain 10", "store_all", 1024, cost_of<chain<10>, 1024>());
    row("chain 10", "sqrt_n", 1024, cost_of<checkpoint<sqrt_n, chain<10>>, 1024>());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
