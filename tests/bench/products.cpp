// SPDX-License-Identifier: MIT
#include <span>
#include <utility>

#include <cairn/core/random_normal.hpp>
#include <cairn/ops/matmul/sixteen_bits.hpp>

#include "bench.hpp"

using namespace cairn;

namespace {

struct one_size {
  const char* form;
  std::size_t m, n, k;
};

// Measures a product of T by call(c, a, b, form); prints its line. `kind` is more of its JSON.
template <class T, class Call>
void measure(const request& asked, cpu& device, const one_size& of, const std::string& kind, const Call& call) {
  const bool first = of.form[0] == 'f', second = of.form[0] == 's';
  const auto [form, m, n, k] = of;
  // Each matrix begins at a cache line, as in a network and in PyTorch.
  const auto filled = [&](std::size_t count, std::uint32_t position) {
    auto memory = device.allocate(count * sizeof(T));
    std::vector<float> values(count);
    ops::fill_normal(std::span(values), types::random_key{.seed = 1, .position = position});
    for (std::size_t i = 0; i < count; ++i) reinterpret_cast<T*>(memory.data())[i] = static_cast<T>(values[i]);
    return memory;
  };
  const auto a = filled(m * k, 0), b = filled(k * n, 1);
  const auto c = device.allocate(m * n * sizeof(T));
  const ops::matrix<const T> left{reinterpret_cast<const T*>(a.data()), first ? k : m, first ? m : k};
  const ops::matrix<const T> right{reinterpret_cast<const T*>(b.data()), second ? n : k, second ? k : n};
  const ops::matrix<T> result{reinterpret_cast<T*>(c.data()), m, n};
  const ops::transpose which = first ? ops::transpose::first : second ? ops::transpose::second : ops::transpose::none;
  std::vector<double> milliseconds;
  for (std::size_t i = 0; i < asked.warmup + asked.steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call(result, left, right, which);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (i >= asked.warmup) milliseconds.push_back(took.count());
  }
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / 1e6;
  std::printf("{\"peer\": \"cairn\", \"workload\": \"products\", \"form\": \"%s\", \"m\": %zu, \"n\": %zu, \"k\": %zu, %s"
              "\"threads\": %zu, \"gflops\": %.1f, \"gflops_best\": %.1f}\n",
              form, m, n, k, kind.c_str(), asked.threads, flops / median(milliseconds),
              flops / *std::min_element(milliseconds.begin(), milliseconds.end()));
  std::fflush(stdout);
}

} // namespace

// Measures each form of a product, on cubes and on the sizes of mlp and chain, in `--steps` turns; prints one line for each: of
// float, and of bfloat16 in each way, for which a machine may have no instruction.
bool bench_products(const request& asked) {
  using set = detail::instruction_set;
  constexpr std::size_t sizes[][3] = {{256, 256, 256},  {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {1024, 256, 256},
                                      {256, 256, 1024}, {128, 512, 784}, {128, 512, 512},    {512, 784, 128},    {512, 512, 128}};
  constexpr std::pair<const char*, set> ways[] = {
      {"widened", set::avx512}, {"AVX-512 BF16", set::avx512_bf16}, {"AMX", set::amx_bf16}};
  cpu device({.threads = asked.threads});
  for (const char* const form : {"none", "first", "second"})
    for (const auto& [m, n, k] : sizes) {
      const one_size of{form, m, n, k};
      measure<float>(asked, device, of, "",
                     [&](auto c, auto a, auto b, auto which) { matmul(device.compute(), c, a, b, which); });
      for (const auto& [name, wanted] : ways) {
        const std::string kind = "\"type\": \"bfloat16\", \"way\": \"" + std::string(name) + "\", ";
        if (wanted > set::avx512 && wanted > detail::widest_for_bfloat16()) {
          std::printf("{\"peer\": \"cairn\", \"workload\": \"products\", \"form\": \"%s\", \"m\": %zu, \"n\": %zu, "
                      "\"k\": %zu, %s\"threads\": %zu, \"gflops\": 0, \"gflops_best\": 0}\n",
                      form, m, n, k, kind.c_str(), asked.threads);
          continue;
        }
        const set isa = std::min(wanted, std::max(detail::widest_for_bfloat16(), detail::widest_instruction_set()));
        measure<bfloat16>(asked, device, of, kind, [&](auto c, auto a, auto b, auto which) {
          detail::multiply_narrow_on(device.compute(), isa, detail::narrow_product<bfloat16, bfloat16>(c, a, b, which, {}));
        });
      }
    }
  return true;
}
