// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/buckets.hpp>

#include "chains.hpp"

namespace buckets_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

constexpr std::size_t most_parameters = 64;

std::vector<bucket> cut(const std::vector<gradient_end>& ends, std::size_t element, std::size_t most) {
  const auto plan = make_buckets<most_parameters>(ends, element, most);
  return {plan.buckets().begin(), plan.buckets().end()};
}

// Checks every promise of a bucket plan, except that it has as few buckets as possible.
void check(const std::vector<gradient_end>& ends, std::size_t element, std::size_t most) {
  const auto buckets = cut(ends, element, most);
  REQUIRE(buckets.size() >= 1);
  std::size_t end = 0;
  std::size_t p = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    CHECK(buckets[b].begin == end);
    CHECK(buckets[b].size() > 0);
    end = buckets[b].end;
    const std::size_t first = p;
    while (p < ends.size() && ends[p].end <= end) ++p;
    REQUIRE(p > first); // whole parameters, at least one
    CHECK(ends[p - 1].end == end);
    CHECK(ends[p - 1].leaf == buckets[b].leaves_after);
    const std::size_t bytes = buckets[b].size() * element;
    CHECK((bytes <= most || p == first + 1));
    if (b + 1 == buckets.size()) CHECK((bytes <= last_bucket_bytes || p == first + 1));
  }
  CHECK(end == ends.back().end);
  // No two neighbours would fit into one bucket, except with the last, which is small on purpose.
  for (std::size_t b = 0; b + 2 < buckets.size(); ++b) {
    const std::size_t next = buckets[b].end;
    std::size_t q = 0;
    while (ends[q].end <= next) ++q;
    CHECK((ends[q].end - buckets[b].begin) * element > most);
  }
}

} // namespace

TEST_CASE("buckets: a limit from one byte to everything") {
  dice any{3};
  for (std::size_t trial = 0; trial < 300; ++trial) {
    std::vector<gradient_end> ends;
    std::size_t end = 0;
    std::size_t leaf = 0;
    for (std::size_t k = 1 + any.below(30); k-- > 0;) {
      end += 16 * (1 + any.below(any.coin() ? 8 : 40'000));
      if (any.coin()) ++leaf;
      ends.push_back({end, leaf});
    }
    for (const std::size_t element : {4U, 8U})
      for (std::size_t most = 1; most < 4 * end * element; most *= 3) check(ends, element, most);
  }
}

TEST_CASE("buckets: one byte gives each parameter its own, everything gives two at most") {
  const std::vector<gradient_end> ends{{16, 0}, {48, 0}, {64, 1}, {1'000'000, 2}, {1'000'016, 3}};
  const auto own = cut(ends, 4, 1);
  REQUIRE(own.size() == 5);
  CHECK(own[1] == bucket{16, 48, 0});
  CHECK(own[3] == bucket{64, 1'000'000, 2});
  const auto all = cut(ends, 4, static_cast<std::size_t>(1) << 40U);
  REQUIRE(all.size() == 2);
  CHECK(all[0] == bucket{0, 1'000'000, 2});
  CHECK(all[1] == bucket{1'000'000, 1'000'016, 3});
  CHECK(cut({{100, 0}, {200, 1}}, 4, 4096).size() == 1); // everything fits into the small last bucket
  CHECK(cut({{16, 0}, {32, 1}}, 4, 128).size() == 1);    // limits are inclusive
  CHECK(cut({{16, 0}, {32, 1}}, 4, 127).size() == 2);
}

TEST_CASE("buckets: none without parameters, and all at compile time") {
  static_assert(make_buckets<0>({}, 4, 100).size() == 0);
  static constexpr std::array<gradient_end, 3> ends{gradient_end{16, 0}, gradient_end{32, 1}, gradient_end{64, 2}};
  constexpr auto plan = make_buckets<3>(ends, 4, 128);
  static_assert(plan.size() == 2 && plan[0] == bucket{0, 32, 1} && plan[1] == bucket{32, 64, 2});
  static_assert(bucket_bytes<100>::value == 100);
  CHECK(plan.buckets().size() == 2);
}

} // namespace buckets_tests
