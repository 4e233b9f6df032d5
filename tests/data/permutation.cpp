// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <cairn/data/permutation.hpp>

namespace permutation_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

std::vector<std::size_t> permutation(std::size_t count, std::uint64_t seed, std::uint64_t step) {
  std::vector<std::size_t> indices;
  permute(indices, count, seed, step);
  return indices;
}

} // namespace

TEST_CASE("permute names every index once") {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 10U, 1001U}) {
    auto indices = permutation(count, 3, 4);
    std::sort(indices.begin(), indices.end());
    REQUIRE(indices.size() == count);
    for (std::size_t i = 0; i < count; ++i) CHECK(indices[i] == i);
  }
}

// Runs are reproducible on other machines only if this order never changes by accident.
TEST_CASE("permute gives the same order everywhere and for ever") {
  CHECK(permutation(10, 7, 0) == std::vector<std::size_t>{9, 7, 6, 0, 4, 5, 8, 2, 3, 1});
  CHECK(permutation(10, 7, 1) == std::vector<std::size_t>{5, 9, 2, 3, 0, 4, 8, 1, 7, 6});
}

TEST_CASE("seed and step each give another order") {
  CHECK(permutation(100, 7, 0) != permutation(100, 7, 1));
  CHECK(permutation(100, 7, 0) != permutation(100, 8, 0));
  CHECK(permutation(100, 7, 5) == permutation(100, 7, 5));
}

TEST_CASE("permute puts every index at every place equally often") {
  constexpr std::size_t count = 5;
  constexpr int rounds = 10000;
  int seen[count][count] = {};
  for (int round = 0; round < rounds; ++round) {
    const auto indices = permutation(count, 11, static_cast<std::uint64_t>(round));
    for (std::size_t place = 0; place < count; ++place) ++seen[place][indices[place]];
  }
  // 2000 expected, with a standard deviation of 40.
  for (const auto& place : seen)
    for (const int times : place) CHECK(std::abs(times - rounds / 5) < 200);
}

TEST_CASE("random_below is the upper half of a 128-bit product") {
  CHECK(random_below(0, 10) == 0);
  CHECK(random_below(~std::uint64_t{0}, 10) == 9);
  CHECK(random_below(std::uint64_t{1} << 63, 10) == 5);
  CHECK(random_below(~std::uint64_t{0}, ~std::uint64_t{0}) == ~std::uint64_t{0} - 1);
  CHECK(random_below(0x123456789ABCDEF0U, 0xFEDCBA9876543210U) == 0x121FA00AD77D7422U);
}

} // namespace permutation_tests
