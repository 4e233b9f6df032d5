// SPDX-License-Identifier: MIT
// Positions, rotation and attention of 16-bit elements agree with the cpu's on the same elements.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>
#include <cairn/ops/ops.hpp>

#include "../../cuda/sixteen_bits.hpp"

namespace ops_cuda_sixteen_bits_words_tests {

using namespace cairn;
using ops::attention_extents, ops::attention_operands, ops::key_band;
using testing::narrow_apart, testing::narrow_operands, testing::normal;

static_assert(detail::positions_run_on<cuda::queue, bfloat16> && detail::positions_run_on<cuda::queue, float16>);
static_assert(detail::sinusoids_run_on<cuda::queue, bfloat16> && detail::sinusoids_run_on<cuda::queue, float16>);
static_assert(detail::rotation_runs_on<cuda::queue, bfloat16> && detail::rotation_runs_on<cuda::queue, float16>);
static_assert(detail::attention_runs_on<cuda::queue, bfloat16> && detail::attention_runs_on<cuda::queue, float16>);
static_assert(detail::attention_with_extras_runs_on<cuda::queue, bfloat16>);
static_assert(detail::attention_with_extras_runs_on<cuda::queue, float16>);

TEST_CASE_TEMPLATE("cuda, 16 bits: positions and rotations are the cpu's, also in place", T, bfloat16, float16) {
  for (const auto& [samples, length, width] : {std::tuple{3U, 7U, 6U}, {20U, 5U, 16U}, {1U, 1U, 1U}}) {
    const std::size_t s = samples, n = length, m = width, count = n * m;
    CAPTURE(n);
    const narrow_operands all{.in = {normal(s * count, 1), normal(count, 2)},
                              .out = {normal(s * count, 3), normal(s * count, 4), normal(s * count, 5), normal(s * count, 6)},
                              .sums = {normal(count + 3, 7)}};
    const ops::rotation how{.length = n, .columns = m, .heads = m / 2 > 0 ? 1U : 0U, .width = m, .turned = m / 2 * 2};
    CHECK(narrow_apart<T>(all, [&](auto& q, const auto& g) {
            add_positions(q, s, count, g.out[0], g.in[0], g.in[1]);
            add_positions(q, s, count, g.out[1], g.out[1], g.in[1]);
            positions_gradient(q, s, count, count + 3, g.sums[0], g.in[0]);
            add_sinusoids(q, s, n, m, g.out[1], g.out[1]);
            rotate(q, how, false, s, g.out[2], g.in[0]);
            rotate(q, how, true, s, g.out[3], g.out[3]);
          }) <= 1);
  }
}

namespace {

// Both passes, with keys and values in the columns of one matrix, and a gap of three elements after the rows of queries.
struct both_passes {
  attention_extents of;
  bool extras = false, aligned = false;

  std::size_t query_stride() const { return of.heads * of.width + (aligned ? 0 : 3); }
  std::size_t key_stride() const { return 2 * of.key_heads * of.width; }
  narrow_operands operands() const {
    const std::size_t queries = of.samples * of.queries * query_stride(), keys = of.samples * of.keys * key_stride();
    const std::size_t outputs = of.samples * of.queries * of.heads * of.width;
    narrow_operands all{
        .in = {normal(queries, 1), normal(keys, 2), normal(outputs, 3), normal(of.heads * of.queries * of.keys, 8)},
        .out = {normal(outputs, 4), normal(queries, 6), normal(keys, 7)},
        .sums = {normal(of.samples * of.heads * of.queries, 5)}};
    for (std::size_t s = 0; s < of.samples; ++s) all.integers.push_back(static_cast<std::int32_t>(of.keys - s));
    return all;
  }
  template <class T>
  attention_operands<T> in(T* query, T* keys) const {
    return {query, keys, keys + of.key_heads * of.width, query_stride(), key_stride()};
  }
  template <class Queue, class T>
  void operator()(Queue& queue, const testing::narrow_given<T>& g) const {
    const T* const y = g.out[0];
    const float* const sums = g.sums[0];
    const attention_operands<T> gradients = in(g.out[1], g.out[2]);
    if (!extras) {
      attention_forward(queue, of, g.out[0], g.sums[0], in(g.in[0], g.in[1]));
      attention_backward(queue, of, gradients, g.in[2], y, sums, in(g.in[0], g.in[1]));
      return;
    }
    const ops::attention_extras<T> more{.key_lengths = g.integers,
                                        .added = g.in[3],
                                        .added_head_stride = of.queries * of.keys,
                                        .rate = {.threshold = 0x55555555, .scale = 1.5},
                                        .random = {.seed = 5, .step = 6, .position = 7}};
    attention_forward(queue, of, g.out[0], g.sums[0], in(g.in[0], g.in[1]), more);
    attention_backward(queue, of, gradients, g.in[2], y, sums, in(g.in[0], g.in[1]), more);
  }
};
attention_extents of_text(std::size_t samples, std::size_t tokens, std::size_t heads, std::size_t key_heads, std::size_t width,
                          const key_band& band) {
  return {.samples = samples,
          .queries = tokens,
          .keys = tokens,
          .heads = heads,
          .key_heads = key_heads,
          .width = width,
          .band = band};
}

} // namespace

TEST_CASE_TEMPLATE(
    "cuda, 16 bits: attention agrees with the cpu's, with all that it may have, in one and in two blocks of columns", T, bfloat16,
    float16) {
  for (const both_passes& op :
       {both_passes{of_text(2, 33, 2, 1, 16, {.after = 0}), false, true}, both_passes{of_text(1, 5, 2, 2, 1, {})},
        both_passes{of_text(1, 7, 1, 1, 72, {.before = 3, .after = 1})},
        both_passes{of_text(2, 21, 2, 1, 8, {.before = 9}), true}}) {
    CAPTURE(op.of.width);
    CHECK(narrow_apart<T>(op.operands(), op) <= 1);
  }
}

} // namespace ops_cuda_sixteen_bits_words_tests
