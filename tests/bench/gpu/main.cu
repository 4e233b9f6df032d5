// SPDX-License-Identifier: MIT
// Measures what kernels, products and training steps reach on the GPU of this machine, and prints tables for RESULTS.md.
//
//   gpu_bench [--list] [--only machine|ops|products|steps] [--step "NAME POLICY"] [--steps N] [--smaller N]
//
// --list names what would be measured and needs no GPU; without a GPU everything else ends with status 77. --step prints one line
// of JSON, for peer.py. --smaller divides all sizes, to try out the program itself.
#include <cstdlib>
#include <exception>
#include <string>

#include <cuda_runtime_api.h>

#include "parts.hpp"

namespace {

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
  std::fprintf(stderr, "gpu_bench: expected [--list] [--only machine|ops|products|steps] [--step \"NAME POLICY\"] [--steps N] "
                       "[--smaller N]\n");
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
  const std::string& part = asked.only;
  return asked.steps > 0 && asked.smaller > 0 && asked.smaller <= 1024 &&
         (part.empty() || part == "machine" || part == "ops" || part == "products" || part == "steps");
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
  double floor = 0;
  {
    cairn::cuda device;
    if (asked.wants("machine") || asked.wants("ops")) {
      floor = gpu_bench::copied_bytes_per_second(device, asked);
      std::printf("%s. It copies %s GB/s in its memory, read and written bytes: the floor of what is bound by memory.\n",
                  name_of_gpu().c_str(), gpu_bench::number(floor / 1e9).c_str());
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
    std::printf("\n### Steps\n\nOf float in pedantic arithmetic, with the batch's way to the GPU; see peer.py for PyTorch's "
                "beside them.\n\n");
    gpu_bench::measure_steps(asked);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "gpu_bench: %s\n", e.what());
  return 1;
}
