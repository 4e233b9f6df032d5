// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/ops/cpu.hpp>
#include <cairn/ops/cuda.cuh>

#include "../../cuda/agree.hpp"

namespace ops_cuda_attention_tests {

using namespace cairn;
using ops::attention_extents, ops::attention_operands, ops::key_band;
using testing::normal, testing::over;

static_assert(detail::attention_runs_on<cuda::queue, float> && detail::attention_runs_on<cuda::queue, double>);
static_assert(detail::attention_with_extras_runs_on<cuda::queue, float>);
static_assert(detail::attention_with_extras_runs_on<cuda::queue, double>);

namespace {

constexpr key_band full{}, causal{.after = 0};
constexpr key_band window(std::size_t n) { return {.before = n - 1, .after = 0}; }

// How queries, keys and values lie in rows, with a gap of `gap` elements after each.
struct rows_of {
  std::size_t gap, query_stride, key_stride;
  rows_of(const attention_extents& of, std::size_t between)
      : gap(between), query_stride(of.heads * of.width + gap), key_stride(2 * of.key_heads * of.width + gap) {}

  template <class T>
  attention_operands<T> operands(const attention_extents& of, T* query, T* keys) const {
    return {query, keys, keys + of.key_heads * of.width, query_stride, key_stride};
  }
};

testing::operands given_for(const attention_extents& of, const rows_of& how) {
  const std::size_t queries = of.samples * of.queries * how.query_stride, keys = of.samples * of.keys * how.key_stride;
  const std::size_t outputs = of.samples * of.queries * of.heads * of.width;
  return {.in = {normal(queries, 1), normal(keys, 2), normal(outputs, 3)},
          .out = {normal(outputs, 4), normal(of.samples * of.heads * of.queries, 5), normal(queries, 6), normal(keys, 7)}};
}

// Forward and backward: outputs, logarithms of sums, and the gradients in rows of queries and of keys, whose gaps stay as they are.
auto both_passes(const attention_extents& of, const rows_of& how) {
  return [of, how](auto& queue, const auto& g) {
    using T = std::remove_cvref_t<decltype(*g.out[0])>;
    const auto in = how.operands(of, g.in[0], g.in[1]);
    attention_forward(queue, of, g.out[0], g.out[1], in);
    const T *const y = g.out[0], *const sums = g.out[1];
    attention_backward(queue, of, how.operands(of, g.out[2], g.out[3]), g.in[2], y, sums, in);
  };
}

// Which extras a call has.
struct with {
  bool lengths = false, added = false, dropped = false;
  bool by_sample = true, by_head = true; // what is added
};

// The same with key lengths, from all keys to none, and a mask that forbids every fifth key. Some queries may look at no key.
testing::operands given_for(const attention_extents& of, const rows_of& how, const with& has) {
  testing::operands all = given_for(of, how);
  std::vector<double> added = normal(has.added ? of.samples * of.heads * of.queries * of.keys : 0, 8);
  for (std::size_t i = 0; i < added.size(); ++i)
    if (i % 5 == 0 || i / of.keys % 7 == 3) added[i] = -INFINITY;
  all.in.push_back(added);
  for (std::size_t s = 0; s < of.samples; ++s)
    all.integers.push_back(static_cast<std::int32_t>(of.keys * (of.samples - 1 - s) / std::max<std::size_t>(1, of.samples - 1)));
  return all;
}
auto both_passes(const attention_extents& of, const rows_of& how, const with& has) {
  return [of, how, has](auto& queue, const auto& g) {
    using T = std::remove_cvref_t<decltype(*g.out[0])>;
    ops::attention_extras<T> extras{.random = {.seed = 5, .step = 6, .position = 7}};
    if (has.lengths) extras.key_lengths = g.integers;
    if (has.added) extras.added = g.in[3];
    if (has.by_sample) extras.added_sample_stride = (has.by_head ? of.heads : 1) * of.queries * of.keys;
    if (has.by_head) extras.added_head_stride = of.queries * of.keys;
    if (has.dropped) extras.rate = {.threshold = 0x55555555, .scale = 1.5};
    const auto in = how.operands(of, g.in[0], g.in[1]);
    attention_forward(queue, of, g.out[0], g.out[1], in, extras);
    const T *const y = g.out[0], *const sums = g.out[1];
    attention_backward(queue, of, how.operands(of, g.out[2], g.out[3]), g.in[2], y, sums, in, extras);
  };
}

double apart_from_cpu(const attention_extents& of, std::size_t gap) {
  const rows_of how(of, gap);
  return over("attention", given_for(of, how), both_passes(of, how));
}

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
std::string name(const attention_extents& of) {
  return std::to_string(of.queries) + " queries from " + std::to_string(of.first_place) + ", " + std::to_string(of.keys) +
         " keys, " + std::to_string(of.heads) + " heads, " + std::to_string(of.key_heads) + " key heads of " +
         std::to_string(of.width) + ", band " + std::to_string(of.band.before) + ", " + std::to_string(of.band.after);
}

} // namespace

TEST_CASE("cuda: attention agrees with the cpu's under every mask, also where its tiles are not full") {
  for (const attention_extents& of :
       {of_text(1, 1, 1, 1, 1, full), of_text(2, 33, 2, 1, 16, causal), of_text(1, 64, 1, 1, 20, full),
        of_text(2, 70, 1, 1, 5, window(6)), of_text(1, 130, 2, 1, 8, key_band{3, 2}), of_text(1, 20, 1, 1, 72, key_band{0, 9})})
    CHECK_MESSAGE(apart_from_cpu(of, of.width % 2 == 0 ? 0 : 3) <= 1, name(of));
  CHECK(apart_from_cpu(of_text(1, 33, 1, 1, 8, causal), 3) <= 1); // rows that do not begin at multiples of 16 bytes
}

TEST_CASE("cuda: attention of fewer queries than keys, and of more, agrees with the cpu's, and a query without keys has a 0") {
  for (const key_band& band : {full, causal, window(9), key_band{3, 2}})
    for (const auto& [first, queries] : {std::pair{0U, 90U}, {5U, 3U}, {70U, 3U}}) {
      attention_extents of = of_text(1, 0, 1, 1, 8, band);
      of.queries = queries;
      of.keys = 73;
      of.first_place = first;
      CHECK_MESSAGE(apart_from_cpu(of, 4) <= 1, name(of));
    }
  attention_extents of = of_text(2, 5, 2, 1, 4, window(2));
  of.keys = 3;
  const rows_of how(of, 0);
  const auto found = testing::of_gpu<double>(given_for(of, how), both_passes(of, how));
  const std::size_t last = of.queries - 1; // of five queries it looks at the keys 3 and 4
  for (std::size_t c = 0; c < of.heads * of.width; ++c) {
    CHECK(found.out[0][last * of.heads * of.width + c] == 0);
    CHECK(found.out[2][last * how.query_stride + c] == 0);
  }
  CHECK(std::isinf(found.out[1][last]));
}

TEST_CASE("cuda: attention without queries has gradients of 0, without keys outputs of 0, and without samples nothing") {
  for (const auto& [samples, queries, keys] : {std::tuple{1U, 0U, 70U}, {1U, 70U, 0U}, {0U, 5U, 5U}}) {
    attention_extents of = of_text(samples, queries, 2, 1, 8, full);
    of.keys = keys;
    CHECK_MESSAGE(apart_from_cpu(of, 0) <= 1, name(of));
  }
}

TEST_CASE("cuda: attention with key lengths, an added mask and dropout agrees with the cpu's") {
  for (const with& has : {with{.lengths = true}, with{.added = true}, with{.added = true, .by_sample = false},
                          with{.added = true, .by_head = false}, with{.dropped = true}}) {
    const attention_extents of = of_text(2, 33, 2, 1, 5, key_band{3, 40});
    const rows_of how(of, 0);
    CHECK(over("attention", given_for(of, how, has), both_passes(of, how, has)) <= 1);
  }
  for (const attention_extents& of :
       {of_text(3, 1, 1, 1, 1, full), of_text(2, 70, 2, 1, 8, causal), of_text(2, 21, 1, 1, 72, window(6))}) {
    const rows_of how(of, 0);
    const with all{true, true, true};
    CHECK_MESSAGE(over("attention", given_for(of, how, all), both_passes(of, how, all)) <= 1, name(of));
  }
}

TEST_CASE_TEMPLATE("cuda: attention with extras of which none is given has the bits of attention without", T, float, double) {
  const attention_extents of = of_text(2, 70, 2, 1, 12, causal);
  const rows_of how(of, 0);
  const auto found = testing::of_gpu<T>(given_for(of, how, {}), both_passes(of, how, with{}));
  CHECK(found.out == testing::of_gpu<T>(given_for(of, how), both_passes(of, how)).out);
}

TEST_CASE("cuda: a key length that does not fit makes the outputs of its sample NaN, and no other's") {
  const attention_extents of = of_text(3, 5, 2, 1, 4, full);
  const rows_of how(of, 0);
  for (const std::int32_t wrong : {-1, 6}) {
    auto given = given_for(of, how, {.lengths = true});
    given.integers = {5, wrong, 2};
    const auto found = testing::of_gpu<float>(given, both_passes(of, how, with{.lengths = true}));
    const std::size_t size = found.out[0].size() / of.samples;
    for (std::size_t i = 0; i < found.out[0].size(); ++i) CHECK(std::isnan(found.out[0][i]) == (i / size == 1));
  }
}

// Scores of up to 1e3: exponentials of what is not shifted would be infinite.
TEST_CASE("cuda: attention of large scores agrees with the cpu's") {
  const attention_extents of = of_text(1, 80, 1, 1, 16, causal);
  const rows_of how(of, 0);
  auto given = given_for(of, how);
  for (double& x : given.in[0]) x *= 100;
  CHECK(testing::apart<float>(given, both_passes(of, how)) < 1e-2);
  CHECK(testing::apart<double>(given, both_passes(of, how)) < 1e-11);
}

TEST_CASE_TEMPLATE("cuda: the output of a query has the same bits with more keys behind its own, and with other queries", T,
                   float, double) {
  constexpr std::size_t tokens = 110, width = 8;
  for (const key_band& band : {causal, window(40)}) {
    const attention_extents of = of_text(1, tokens, 1, 1, width, band);
    const rows_of how(of, 0);
    const auto given = given_for(of, how);
    const auto all = testing::of_gpu<T>(given, both_passes(of, how));
    for (const std::size_t first : {0U, 63U, 100U}) {
      attention_extents some = of;
      some.first_place = first;
      some.queries = std::min<std::size_t>(3, tokens - first);
      some.keys = first + some.queries;
      auto own = given;
      own.in[0].erase(own.in[0].begin(), own.in[0].begin() + static_cast<std::ptrdiff_t>(first * width));
      const auto found = testing::of_gpu<T>(own, [&](auto& queue, const auto& g) {
        attention_forward(queue, some, g.out[0], g.out[1], how.operands(some, g.in[0], g.in[1]));
      });
      CAPTURE(first);
      CHECK(std::memcmp(found.out[0].data(), all.out[0].data() + first * width, some.queries * width * sizeof(T)) == 0);
      CHECK(std::memcmp(found.out[1].data(), all.out[1].data() + first, some.queries * sizeof(T)) == 0);
    }
  }
}

TEST_CASE("cuda: attention refuses extents that do not fit") {
  auto& queue = testing::gpu().compute();
  attention_extents of = of_text(1, 4, 3, 2, 8, full);
  CHECK_THROWS_AS(attention_forward(queue, of, static_cast<float*>(nullptr), nullptr, {}), error);
  of = of_text(1, 4, 2, 1, 8, full);
  attention_operands<const float> wide{.query_stride = std::size_t{1} << 26, .key_stride = 16};
  CHECK_THROWS_WITH(attention_forward(queue, of, static_cast<float*>(nullptr), nullptr, wide),
                    "attention: expected rows of fewer than 67108864 elements on a GPU, found 67108864");
}

} // namespace ops_cuda_attention_tests
