// SPDX-License-Identifier: MIT
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>

#include "../../cuda/agree.hpp"

namespace ops_cuda_positions_tests {

using namespace cairn;
using testing::normal, testing::over;

static_assert(detail::positions_run_on<cuda::queue, float> && detail::positions_run_on<cuda::queue, double>);
static_assert(detail::sinusoids_run_on<cuda::queue, float> && detail::sinusoids_run_on<cuda::queue, double>);
static_assert(detail::rotation_runs_on<cuda::queue, float> && detail::rotation_runs_on<cuda::queue, double>);

TEST_CASE("cuda: learnt positions agree with the cpu's, also in place, and of a part of the table") {
  for (const auto& [samples, count, whole] : {std::tuple{1U, 1U, 1U}, {3U, 37U, 60U}, {5U, 320U, 320U}, {100U, 24U, 25U}}) {
    CAPTURE(count);
    const std::size_t s = samples, n = count, m = whole;
    const testing::operands all{.in = {normal(s * n, 1), normal(n, 2), normal(s * n, 3)},
                                .out = {normal(s * n, 4), normal(s * n, 5), normal(m, 6)}};
    CHECK(over("positions", all, [&](auto& q, const auto& g) {
            add_positions(q, s, n, g.out[0], g.in[0], g.in[1]);
            add_positions(q, s, n, g.out[1], g.out[1], g.in[1]);
            positions_gradient(q, s, n, m, g.out[2], g.in[2]);
          }) <= 1);
  }
}

TEST_CASE("cuda: sinusoidal positions agree with the cpu's, also in place") {
  for (const auto& [samples, length, width] : {std::tuple{1U, 1U, 1U}, {3U, 7U, 5U}, {2U, 33U, 64U}, {1U, 900U, 6U}}) {
    CAPTURE(length);
    const std::size_t s = samples, n = length, m = width, size = s * n * m;
    const testing::operands all{.in = {normal(size, 1)}, .out = {normal(size, 2), normal(size, 3)}};
    CHECK(over("sinusoids", all, [&](auto& q, const auto& g) {
            add_sinusoids(q, s, n, m, g.out[0], g.in[0]);
            add_sinusoids(q, s, n, m, g.out[1], g.out[1]);
          }) <= 1);
  }
}

TEST_CASE("cuda: a thread may use its sines for several samples, the last one for fewer") {
  constexpr std::size_t samples = 1001, length = 513, width = 1;
  static_assert(samples * length / (1 << 17) == 3);
  const testing::operands all{.in = {normal(samples * length * width, 1)}, .out = {normal(samples * length * width, 2)}};
  CHECK(over(
            "sinusoids", all, [&](auto& q, const auto& g) { add_sinusoids(q, samples, length, width, g.out[0], g.in[0]); },
            false) <= 1);
}

TEST_CASE("cuda: rotations agree with the cpu's, there and back, of a part of a head and of a row, also in place") {
  for (const ops::rotation& how : {ops::rotation{1, 2, 1, 2, 2}, ops::rotation{7, 40, 2, 10, 6}, ops::rotation{33, 96, 4, 16, 16},
                                   ops::rotation{900, 8, 1, 4, 4, 500'000}}) {
    CAPTURE(how.length);
    const std::size_t samples = 3, size = samples * how.length * how.columns;
    const testing::operands all{.in = {normal(size, 1)}, .out = {normal(size, 2), normal(size, 3)}};
    CHECK(over("rotation", all, [&](auto& q, const auto& g) {
            rotate(q, how, false, samples, g.out[0], g.in[0]);
            rotate(q, how, true, samples, g.out[1], g.out[1]);
          }) <= 1);
  }
}

} // namespace ops_cuda_positions_tests
