// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/sampled_front.hpp>

#include "../chains.hpp"

namespace solve_sampled_front_tests {

using namespace cairn::detail;
using cairn::testing::dice;

namespace {

constexpr std::size_t count = 8;
using front = sampled_front<count>;

// The bytes and the cost of a front at sample m.
struct told {
  std::int64_t bytes;
  std::uint64_t cost;
};
told at(const front& f, std::size_t m) { return {static_cast<std::int64_t>(f.bytes[m]), f.cost[m]}; }

// A front of one to four ways.
front random_front(dice& d, const budget_samples& all) {
  front out{all};
  out.clear(0);
  front upper{all}, lower{all};
  lower.be({0, 0});
  for (std::size_t k = 1 + d.below(4); k > 0; --k) {
    upper.be({d.below(120), d.below(50)});
    out.offer(upper, 0, lower, {}, static_cast<std::uint16_t>(2 * k));
  }
  out.finish();
  return out;
}

// The least cost that the front has for at most `bytes` bytes.
std::uint64_t cost_within(const front& f, std::int64_t bytes) {
  std::uint64_t best = static_cast<std::int64_t>(f.least.bytes) <= bytes ? f.least.cost : front::endless;
  for (std::size_t m = f.low; m <= count; ++m)
    if (at(f, m).bytes <= bytes) best = std::min(best, at(f, m).cost);
  return best;
}

} // namespace

TEST_CASE("budget samples: the last is the budget, and every number of bytes has one that is not below it") {
  for (const std::int64_t budget : {0, 1, 7, 64, 1000, 123456}) {
    const budget_samples all{.budget = budget, .count = count};
    CHECK(all.at(count) == budget);
    CHECK(all.at(0) < 0);
    for (std::int64_t bytes = 0; bytes <= budget; bytes += 1 + budget / 100) {
      const std::size_t m = all.above(static_cast<std::size_t>(bytes));
      REQUIRE(m >= 1);
      CHECK(all.at(m) >= bytes);
      CHECK(all.at(m - 1) < bytes);
    }
  }
}

// Each sample has exactly the cheapest pair of the parts' entries: no bytes are rounded.
TEST_CASE("sampled front: joining is what one gets by asking both parts at every sample") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    dice d(seed);
    const budget_samples all{.budget = static_cast<std::int64_t>(d.below(150)), .count = count};
    front found{all};
    found.clear(0);
    std::uint64_t expected[count + 1];
    std::fill_n(expected, count + 1, front::endless);
    std::size_t least = static_cast<std::size_t>(-1);
    for (std::uint16_t k = 1; k <= 3; ++k) {
      const front upper = random_front(d, all), lower = random_front(d, all);
      const std::size_t more = d.below(60);
      const need own{d.below(100), d.below(20)};
      found.offer(upper, more, lower, own, k);
      least = std::min(least, std::max({own.bytes, upper.least.bytes + more, lower.least.bytes}));
      for (std::size_t m = 1; m <= count; ++m) {
        const std::int64_t bytes = all.at(m);
        if (bytes < static_cast<std::int64_t>(own.bytes)) continue;
        const std::uint64_t up = cost_within(upper, bytes - static_cast<std::int64_t>(more)), down = cost_within(lower, bytes);
        if (up < front::endless && down < front::endless) expected[m] = std::min(expected[m], up + down + own.cost);
      }
    }
    found.finish();
    REQUIRE(found.least.bytes == least);
    for (std::size_t m = 1; m <= count; ++m) {
      if (expected[m] == front::endless) {
        REQUIRE(m < found.low);
        continue;
      }
      REQUIRE(m >= found.low);
      ++compared;
      REQUIRE(found.cost[m] == expected[m]);
      REQUIRE(at(found, m).bytes <= all.at(m));
      REQUIRE(at(found, m).bytes >= static_cast<std::int64_t>(least));
    }
  }
  CHECK(compared > 10000);
}

TEST_CASE("sampled front: what is cheapest already is not looked for any more") {
  const budget_samples all{.budget = 80, .count = count};
  front known{all}, zero{all};
  known.clear(5);
  zero.be({0, 0});
  known.offer(zero, 0, zero, {35, 5}, 2); // at sample 4 of 8: none is cheaper from there on
  known.offer(zero, 0, zero, {25, 9}, 4);
  known.finish();
  CHECK(known.high == all.above(35));
  for (std::size_t m = known.high; m <= count; ++m) {
    CHECK(known.cost[m] == 5);
    CHECK(at(known, m).bytes == 35);
  }
  CHECK(known.within(80) == 2);
  CHECK(known.within(35) == 2);
  CHECK(known.within(34) == 4);
  CHECK(known.within(25) == 4);
}

TEST_CASE("sampled front: of a budget that is too small the way of the least bytes is known") {
  const budget_samples all{.budget = 10, .count = count};
  front f{all}, zero{all};
  zero.be({0, 0});
  f.clear(0);
  f.offer(zero, 0, zero, {30, 5}, 2);
  f.offer(zero, 0, zero, {20, 7}, 4);
  f.finish();
  CHECK(f.low > count);
  CHECK(f.least.bytes == 20);
  CHECK(f.within(20) == 4);
}

} // namespace solve_sampled_front_tests
