// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/comm/sum_of_ranks.hpp>
#include <cairn/core/random.hpp>
#include <doctest/doctest.h>

namespace sum_of_ranks_tests {

namespace {

// Numbers of very different sizes: another order of summation gives other bits.
template <class T>
std::vector<std::vector<T>> uneven_spans(int ranks, std::size_t count) {
  std::vector<std::vector<T>> spans(static_cast<std::size_t>(ranks), std::vector<T>(count));
  std::uint64_t drawn = 0;
  for (auto& span : spans)
    for (T& value : span) {
      const T sign_and_size = cairn::ops::random_uniform<T>({1, 2, 3}, drawn++) - T(0.5);
      value = sign_and_size * (cairn::ops::random_bits({4, 5, 6}, drawn) % 2 == 0 ? T(1e4) / 3 : T(1) / 3);
    }
  return spans;
}

template <class T>
std::vector<T> plain_sum(const std::vector<std::vector<T>>& spans, bool backwards = false) {
  std::vector<T> sum(spans[0].size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum[i] = backwards ? spans.back()[i] : spans[0][i];
    for (std::size_t r = 1; r < spans.size(); ++r) sum[i] += spans[backwards ? spans.size() - 1 - r : r][i];
  }
  return sum;
}

} // namespace

TEST_CASE_TEMPLATE("sum_of_ranks: the bits of the plain sum, on every rank", T, float, double) {
  for (const int ranks : {1, 2, 3, 4, 7})
    for (const std::size_t count : {0UL, 1UL, 63UL, 64UL, 65UL, 1023UL, 1024UL, 5000UL}) {
      auto spans = uneven_spans<T>(ranks, count);
      const auto expected = plain_sum(spans);
      cairn::detail::sum_of_ranks<T>(ranks, [&](int rank) { return spans[static_cast<std::size_t>(rank)].data(); }, 0, count);
      for (const auto& span : spans) CHECK(span == expected);
    }
  // The oracle can tell orders apart.
  const auto spans = uneven_spans<T>(3, 5000);
  CHECK(plain_sum(spans) != plain_sum(spans, true));
}

TEST_CASE("sum_of_ranks: a part of the spans is all that is touched") {
  auto spans = uneven_spans<float>(3, 300);
  const auto before = spans;
  const auto expected = plain_sum(spans);
  cairn::detail::sum_of_ranks<float>(3, [&](int rank) { return spans[static_cast<std::size_t>(rank)].data(); }, 101, 227);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t i = 0; i < 300; ++i) CHECK(spans[r][i] == (i >= 101 && i < 227 ? expected[i] : before[r][i]));
}

} // namespace sum_of_ranks_tests
