// SPDX-License-Identifier: MIT
// Measures what kernels, products and training steps reach on the GPU of this machine, and prints tables for RESULTS.md.
//
//   gpu_bench [--list] [--only PART] [--step "NAME POLICY [WAY]"] [--steps N] [--smaller N]
//
// The parts: machine (its name, versions, and what its memory reaches), smoke (20 steps beside the processor's; exit status 1 if they
// differ), algorithms (what cuBLASLt takes for each product), constants (what calls cost the host), ops, products, steps,
// ranks.
// --list names what would be measured and needs no GPU; without a GPU everything else ends with status 77. --step prints one line
// of JSON, for peer.py. --smaller divides all sizes, to try out the program itself.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "parts.hpp"

namespace {

std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }
std::string versions() {
#if CAIRN_KERNELS_ON_HOST
  return "none";
#else
  int runtime = 0, driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess || cudaDriverGetVersion(&driver) != cudaSuccess) return "unknown";
  return "CUDA " + version(runtime) + " on a driver for " + version(driver) + ", cuBLASLt " +
         std::to_string(cublasLtGetVersion());
#endif
}

std::string name_of_gpu() {
#if CAIRN_KERNELS_ON_HOST
  return "no GPU, but the fake runtime";
#else
  cudaDeviceProp found{};
  if (cudaGetDeviceProperties(&found, 0) != cudaSuccess) return "a GPU without a name";
  return std::string(found.name) + ", " + std::to_string(found.multiProcessorCount) + " multiprocessors of compute capability " +
         std::to_string(found.major) + "." + std::to_string(found.minor);
#endif
}

int use() {
  std::fprintf(stderr,
               "gpu_bench: expected [--list] [--only PART] [--step \"NAME POLICY [WAY]\"] [--steps N] [--smaller N]; a PART is");
  for (const char* part : gpu_bench::parts) std::fprintf(stderr, " %s", part);
  std::fprintf(stderr, "\n");
  return 2;
}

bool read(gpu_bench::request& asked, int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--list") {
      asked.list = true;
      continue;
    }
    if (++i == count) return false;
    const std::string value = words[i];
    const auto as_number = [&] { return static_cast<std::size_t>(std::strtoull(value.c_str(), nullptr, 10)); };
    if (word == "--only") asked.only = value;
    else if (word == "--step") asked.step = value;
    else if (word == "--steps") asked.steps = as_number();
    else if (word == "--smaller") asked.smaller = as_number();
    else return false;
  }
  return asked.steps > 0 && asked.smaller > 0 && asked.smaller <= 1024 &&
         (asked.only.empty() || std::ranges::count(gpu_bench::parts, asked.only) == 1);
}

} // namespace

int main(int count, char** words) try {
  gpu_bench::request asked;
  if (!read(asked, count, words)) return use();
  if (asked.list) {
    gpu_bench::list_ops(asked);
    gpu_bench::list_products(asked);
    gpu_bench::list_steps();
    return 0;
  }
  if (cairn::cuda::count() == 0) {
    std::fprintf(stderr, "gpu_bench: expected a GPU, found none that this program can use\n");
    return 77;
  }
  if (!asked.step.empty()) {
    if (gpu_bench::measure_step(asked)) return 0;
    std::fprintf(stderr, "gpu_bench: there is no step \"%s\"; see --list\n", asked.step.c_str());
    return 2;
  }
  if (asked.wants("smoke") && !gpu_bench::smokes()) return 1;
  double floor = 0;
  {
    cairn::cuda device({.graphs = false}); // ops are measured one by one, and steps with trainers' own devices
    if (asked.wants("machine") || asked.wants("ops")) {
      floor = gpu_bench::copied_bytes_per_second(device, asked);
      std::printf("%s. Versions: %s. It copies %s GB/s in its memory, read and written bytes: the floor of what is bound by "
                  "memory.\n",
                  name_of_gpu().c_str(), versions().c_str(), gpu_bench::number(floor / 1e9).c_str());
    }
    if (asked.wants("algorithms")) {
      std::printf("\n### Algorithms of products\n\nAs cuBLASLt numbers them. An epilogue is taken if one algorithm serves all "
                  "those of the form: bias and ReLU, or the sums of a weight gradient, whose distance from double is the largest "
                  "|x - y| / (1 + |y|).\n\n");
      gpu_bench::list_algorithms(device, asked);
    }
    if (asked.wants("constants")) {
      std::printf("\n### Calls\n\n");
      gpu_bench::measure_constants(device, asked);
    }
    if (asked.wants("ops")) {
      std::printf(
          "\n### Ops\n\nBytes are those that an op has to move where nothing stays in a cache: a norm over columns, and a "
          "gradient of parameters beside one of the input, read their operands twice.\n\n");
      gpu_bench::measure_ops(device, asked, floor);
    }
    if (asked.wants("products")) {
      std::printf("\n### Products\n\n`float` is in pedantic arithmetic, as every product is that does not allow TF32.\n\n");
      gpu_bench::measure_products(device, asked);
    }
  }
  if (asked.wants("steps")) {
    std::printf("\n### Steps\n\nOf float in pedantic arithmetic, with the batch's way to the GPU: each op by a call of the host; "
                "a graph; a graph in which products that are independent are beside each other. See peer.py for PyTorch's.\n\n");
    gpu_bench::measure_steps(asked);
  }
  if (asked.wants("ranks")) {
    std::printf("\n### Steps of ranks\n\nThe slowest rank's milliseconds of a step, in which each has a batch of its own.\n\n");
    gpu_bench::measure_ranks(asked);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "gpu_bench: %s\n", e.what());
  return 1;
}
