// SPDX-License-Identifier: MIT
// A trained network that is asked about few samples at a time, from one thread or from several, and the floor beside it: one core
// reads as many bytes as an answer reads of weights.
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <cairn/layer/gelu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/sequential.hpp>
#include <cairn/ops/matmul/packed_weight.hpp>
#include <cairn/train/fixed_session.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/session.hpp>

#if CAIRN_X86
#include <immintrin.h>
#endif

#include "bench.hpp"
#include "networks.hpp"

using namespace cairn;

namespace {

using clock_type = std::chrono::steady_clock;

struct answers {
  std::vector<double> microseconds; // of each
  double middle = 0;                // of one, where the clock's own time is shared by many
  double per_second = 0;            // of all threads
};

template <class F>
double microseconds_of(const F& f) {
  const auto start = clock_type::now();
  f();
  return std::chrono::duration<double, std::micro>(clock_type::now() - start).count();
}

// Times `steps` calls, each alone and in groups.
template <class F>
answers timed(const request& asked, const F& f) {
  answers out;
  for (std::size_t i = 0; i < asked.warmup; ++i) f();
  for (std::size_t i = 0; i < asked.steps; ++i) out.microseconds.push_back(microseconds_of(f));
  std::sort(out.microseconds.begin(), out.microseconds.end());
  constexpr std::size_t together = 16;
  std::vector<double> groups;
  double all = 0;
  for (std::size_t i = 0; i < asked.steps / together + 1; ++i)
    groups.push_back(microseconds_of([&] {
                       for (std::size_t k = 0; k < together; ++k) f();
                     }) /
                     together);
  for (const double g : groups) all += g;
  std::nth_element(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(groups.size() / 2), groups.end());
  out.middle = groups[groups.size() / 2];
  out.per_second = 1e6 * static_cast<double>(groups.size()) / all;
  return out;
}

// One core reads the bytes in the widest loads that it has.
#if CAIRN_X86
[[gnu::target("avx512f")]] std::uint64_t sum_by_64(const std::vector<std::uint64_t>& words) {
  __m512i part[8]{};
  for (std::size_t i = 0; i + 64 <= words.size(); i += 64)
    for (std::size_t k = 0; k < 8; ++k) part[k] = _mm512_add_epi64(part[k], _mm512_loadu_si512(words.data() + i + 8 * k));
  std::array<std::uint64_t, 8> lanes{};
  for (std::size_t k = 1; k < 8; ++k) part[0] = _mm512_add_epi64(part[0], part[k]);
  _mm512_storeu_si512(lanes.data(), part[0]);
  return lanes[0] + lanes[7];
}
[[gnu::target("avx2")]] std::uint64_t sum_by_32(const std::vector<std::uint64_t>& words) {
  __m256i part[8]{};
  for (std::size_t i = 0; i + 32 <= words.size(); i += 32)
    for (std::size_t k = 0; k < 8; ++k)
      part[k] = _mm256_add_epi64(part[k], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words.data() + i + 4 * k)));
  std::array<std::uint64_t, 4> lanes{};
  for (std::size_t k = 1; k < 8; ++k) part[0] = _mm256_add_epi64(part[0], part[k]);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes.data()), part[0]);
  return lanes[0] + lanes[3];
}
std::uint64_t sum_of(const std::vector<std::uint64_t>& words) {
  return __builtin_cpu_supports("avx512f") ? sum_by_64(words) : sum_by_32(words);
}
#else
std::uint64_t sum_of(const std::vector<std::uint64_t>& words) {
  std::uint64_t sum = 0;
  for (const std::uint64_t w : words) sum += w;
  return sum;
}
#endif

void print(const request& asked, std::size_t rows, std::size_t parameters, const answers& found) {
  const auto part = [&](double of) {
    return found.microseconds[static_cast<std::size_t>(of * static_cast<double>(found.microseconds.size() - 1))];
  };
  std::printf(
      "{\"peer\": \"cairn\", \"workload\": \"answers\", \"mode\": \"%s\", \"rows\": %zu, \"threads\": %zu, \"parameters\": %zu, "
      "\"us\": %.4f, \"us_99\": %.4f, \"us_999\": %.4f, \"per_second\": %.1f}\n",
      asked.mode.c_str(), rows, asked.threads, parameters, found.middle, part(0.99), part(0.999), found.per_second);
}

// What follows the name of a network: the floor, or the numbers in which its weights are packed.
struct way {
  bool is_floor = false;
  ops::weight_format weights = ops::weight_format::own;
};

template <class Net, std::size_t Rows>
void run(const request& asked, const way& how) {
  constexpr std::size_t parameters = blueprint_of<Net, 1>::parameters;
  if (how.is_floor) {
    const std::vector<std::uint64_t> weights(parameters / 2, 1);
    std::atomic<std::uint64_t> kept{0}; // so that nothing is left out
    return print(asked, Rows, parameters, timed(asked, [&] { kept.store(sum_of(weights), std::memory_order_relaxed); }));
  }
  using model_type = model<Net, batch<Rows>>;
  const auto net = std::make_unique<model_type>(types::model_options{.weights = how.weights});
  const std::array<float, Rows * model_type::plan::inputs[0].extents.size()> samples{0.5F};
  if (asked.threads == 1) {
    const auto own = std::make_unique<fixed_session<model_type>>(*net);
    return print(asked, Rows, parameters, timed(asked, [&] { static_cast<void>(own->evaluate(samples)); }));
  }
  std::vector<answers> found(asked.threads);
  std::vector<std::thread> callers;
  std::atomic<std::size_t> ready{0};
  for (std::size_t t = 0; t < asked.threads; ++t)
    callers.emplace_back([&, t] {
      session own{*net};
      own.evaluate(samples);
      for (++ready; ready < asked.threads;) std::this_thread::yield();
      found[t] = timed(asked, [&] { static_cast<void>(own.evaluate(samples)); });
    });
  for (std::thread& one : callers) one.join();
  for (std::size_t t = 1; t < asked.threads; ++t) {
    found[0].per_second += found[t].per_second;
    found[0].microseconds.insert(found[0].microseconds.end(), found[t].microseconds.begin(), found[t].microseconds.end());
  }
  std::sort(found[0].microseconds.begin(), found[0].microseconds.end());
  print(asked, Rows, parameters, found[0]);
}

template <class Net>
bool with_rows(const request& asked, const way& how) {
  switch (asked.rows) {
  case 1: return run<Net, 1>(asked, how), true;
  case 2: return run<Net, 2>(asked, how), true;
  case 4: return run<Net, 4>(asked, how), true;
  case 8: return run<Net, 8>(asked, how), true;
  default: return false;
  }
}

} // namespace

bool bench_answers(const request& asked) {
  using small = Sequential<Linear<100, 10>, ReLU, Linear<10, 1>>;
  using digits = Sequential<Linear<784, 512>, ReLU, Linear<512, 512>, ReLU, Linear<512, 10>>;
  using block = Sequential<Linear<768, 3072>, GELU, Linear<3072, 768>>;
  std::string mode = asked.mode;
  way how;
  const auto ends = [&](const std::string& word) {
    if (!mode.ends_with(word)) return false;
    mode.resize(mode.size() - word.size());
    return true;
  };
  how.is_floor = ends("_floor");
  if (ends("_bfloat16")) how.weights = ops::weight_format::bfloat16;
  if (ends("_int8")) how.weights = ops::weight_format::int8;
  if (mode == "small") return with_rows<small>(asked, how);
  if (mode == "digits") return with_rows<digits>(asked, how);
  if (mode == "deep") return with_rows<mlp::net>(asked, how);
  if (mode == "block") return with_rows<block>(asked, how);
  if (mode == "1024") return with_rows<Sequential<Linear<1024, 1024>>>(asked, how);
  if (mode == "2048") return with_rows<Sequential<Linear<2048, 2048>>>(asked, how);
  if (mode == "4096") return with_rows<Sequential<Linear<4096, 4096>>>(asked, how);
  return false;
}
