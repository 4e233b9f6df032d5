// SPDX-License-Identifier: MIT
#include <array>

#include <cairn/core/random_normal.hpp>
#include <cairn/ops/matmul/cpu.hpp>

#include "bench.hpp"

using namespace cairn;

// Measures each form of a product, on cubes and on the sizes of mlp and chain, in `--steps` turns; prints one line for each.
bool bench_products(const request& asked) {
  constexpr std::size_t sizes[][3] = {{256, 256, 256},  {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {1024, 256, 256},
                                      {256, 256, 1024}, {128, 512, 784}, {128, 512, 512},    {512, 784, 128},    {512, 512, 128}};
  cpu device({.threads = asked.threads});
  for (const char* const form : {"none", "first", "second"})
    for (const auto& [m, n, k] : sizes) {
      const bool first = form[0] == 'f';
      const bool second = form[0] == 's';
      // Each matrix begins at a cache line, as in a network and in PyTorch.
      auto a_memory = device.allocate(m * k * sizeof(float));
      auto b_memory = device.allocate(k * n * sizeof(float));
      auto c_memory = device.allocate(m * n * sizeof(float));
      const std::span a{reinterpret_cast<float*>(a_memory.data()), m * k};
      const std::span b{reinterpret_cast<float*>(b_memory.data()), k * n};
      const std::span c{reinterpret_cast<float*>(c_memory.data()), m * n};
      ops::fill_normal(a, types::random_key{.seed = 1, .position = 0});
      ops::fill_normal(b, types::random_key{.seed = 1, .position = 1});
      const ops::matrix<const float> left{a.data(), first ? k : m, first ? m : k, first ? m : k};
      const ops::matrix<const float> right{b.data(), second ? n : k, second ? k : n, second ? k : n};
      const ops::transpose which = first ? ops::transpose::first : second ? ops::transpose::second : ops::transpose::none;
      std::vector<double> milliseconds;
      for (std::size_t i = 0; i < asked.warmup + asked.steps; ++i) {
        const auto start = std::chrono::steady_clock::now();
        matmul(device.compute(), ops::matrix<float>{c.data(), m, n, n}, left, right, which);
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        if (i >= asked.warmup) milliseconds.push_back(took.count());
      }
      const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 1e6;
      std::printf("{\"peer\": \"cairn\", \"workload\": \"products\", \"form\": \"%s\", \"m\": %zu, \"n\": %zu, \"k\": %zu, "
                  "\"threads\": %zu, \"gflops\": %.1f, \"gflops_best\": %.1f}\n",
                  form, m, n, k, asked.threads, flops / median(milliseconds),
                  flops / *std::min_element(milliseconds.begin(), milliseconds.end()));
      std::fflush(stdout);
    }
  return true;
}
