// SPDX-License-Identifier: MIT
// Measures what one core of this machine reaches, which bounds every other figure.
#include <cairn/core/config.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/copy/cpu.hpp>

#if CAIRN_X86
#include <immintrin.h>
#endif

#include "bench.hpp"

using namespace cairn;

namespace {

constexpr std::size_t rounds = 2'000'000;

// Independent chains of multiply-adds in registers: as many operations as the core can start.
#if CAIRN_X86
CAIRN_TARGET_AVX512 double multiply_adds_512() {
  __m512 sum[12];
  for (auto& s : sum) s = _mm512_set1_ps(1.0F);
  __m512 a = _mm512_set1_ps(0.999F), b = _mm512_set1_ps(0.001F);
  for (std::size_t i = 0; i < rounds; ++i) {
    asm volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm512_fmadd_ps(s, a, b);
  }
  for (auto& s : sum) asm volatile("" : : "v"(s));
  return 12.0 * 16 * 2 * rounds;
}

CAIRN_TARGET_AVX2 double multiply_adds_256() {
  __m256 sum[12];
  for (auto& s : sum) s = _mm256_set1_ps(1.0F);
  __m256 a = _mm256_set1_ps(0.999F), b = _mm256_set1_ps(0.001F);
  for (std::size_t i = 0; i < rounds; ++i) {
    asm volatile("" : "+x"(a), "+x"(b));
#pragma GCC unroll 12
    for (auto& s : sum) s = _mm256_fmadd_ps(s, a, b);
  }
  for (auto& s : sum) asm volatile("" : : "x"(s));
  return 12.0 * 8 * 2 * rounds;
}
#endif

double multiply_adds_plain() {
  float sum[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  float a = 0.999F, b = 0.001F;
  for (std::size_t i = 0; i < rounds; ++i) {
    asm volatile("" : "+m"(a), "+m"(b));
    for (float& s : sum) s = s * a + b;
  }
  for (float& s : sum) asm volatile("" : : "m"(s));
  return 8.0 * 2 * rounds;
}

double operations() {
#if CAIRN_X86
  if (__builtin_cpu_supports("avx512f")) return multiply_adds_512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_adds_256();
#endif
  return multiply_adds_plain();
}

template <class F>
double best_rate(F work) { // per second, the best of several
  double best = 0;
  for (int i = 0; i < 9; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const double done = work();
    best = std::max(best, done / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

} // namespace

bool bench_machine(const request&) {
  cpu device;
  const auto bandwidth = [&](std::size_t bytes) {
    auto from = device.allocate(bytes), to = device.allocate(bytes);
    const std::size_t times = std::max<std::size_t>(1, (std::size_t{256} << 20) / bytes);
    return best_rate([&] {
      for (std::size_t i = 0; i < times; ++i)
        copy(device.compute(), bytes / sizeof(float), reinterpret_cast<float*>(to.data()),
             reinterpret_cast<const float*>(from.data()));
      return static_cast<double>(2 * bytes * times); // read and written
    });
  };
  std::printf("{\"peer\": \"cairn\", \"workload\": \"machine\", \"gflops\": %.1f, \"gbytes_memory\": %.1f, "
              "\"gbytes_l3\": %.1f, \"gbytes_l2\": %.1f}\n",
              best_rate(operations) / 1e9, bandwidth(std::size_t{128} << 20) / 1e9, bandwidth(std::size_t{4} << 20) / 1e9,
              bandwidth(std::size_t{192} << 10) / 1e9);
  return true;
}
