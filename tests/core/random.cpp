// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>

#include <cairn/core/random.hpp>

namespace random_tests {

using namespace cairn;

// The published known answers of Philox4x32-10, with the counter's parts named as in random_key.
TEST_CASE("random_block gives the published numbers of Philox4x32-10") {
  using block = std::array<std::uint32_t, 4>;
  static_assert(ops::random_block({.seed = 0, .step = 0, .position = 0}, 0) ==
                block{0x6627E8D5U, 0xE169C58DU, 0xBC57AC4CU, 0x9B00DBD8U});
  static_assert(ops::random_block({.seed = ~std::uint64_t{0}, .step = 0xFFFFFFFFFFFFU, .position = 0xFFFFFFFFU},
                                  0xFFFFFFFFFFFFU) == block{0x408F276DU, 0x41C83B0EU, 0xA20BC7C6U, 0x6D5451FDU});
  static_assert(ops::random_block({.seed = 0x299F31D0A4093822U, .step = 0x85A303707344U, .position = 0x13198A2EU},
                                  0x08D3243F6A88U) == block{0xD16CFE09U, 0x94FDCCEBU, 0x5001E420U, 0x24126EA1U});
}

TEST_CASE("random_bits walks through the blocks number by number") {
  const types::random_key key{.seed = 7, .step = 3, .position = 5};
  for (std::uint64_t i = 0; i < 12; ++i) CHECK(ops::random_bits(key, i) == ops::random_block(key, i / 4)[i % 4]);
}

TEST_CASE("seed, step, position and index each give other numbers") {
  std::set<std::uint32_t> seen;
  std::size_t drawn = 0;
  for (std::uint64_t i = 0; i < 5; ++i)
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      for (std::uint64_t step = 0; step < 3; ++step)
        for (std::uint32_t position = 0; position < 3; ++position, ++drawn)
          seen.insert(ops::random_bits({.seed = seed, .step = step, .position = position}, i));
  CHECK(seen.size() == drawn);
}

TEST_CASE_TEMPLATE("random_uniform lies from 0 to below 1, with mean 1/2 and variance 1/12", T, float, double) {
  const types::random_key key{.seed = 11};
  constexpr std::uint64_t count = 100'000;
  double sum = 0;
  double squares = 0;
  bool inside = true;
  for (std::uint64_t i = 0; i < count; ++i) {
    const T x = ops::random_uniform<T>(key, i);
    inside = inside && x >= 0 && x < 1;
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  const double mean = sum / count;
  CHECK(inside);
  CHECK(std::abs(mean - 0.5) < 0.004); // more than four standard deviations of the mean
  CHECK(std::abs(squares / count - mean * mean - 1.0 / 12) < 0.002);
}

TEST_CASE("every micro-batch of every step has numbers of its own, also beyond the 65,536th") {
  for (const std::uint64_t m : {0U, 1U, 65535U}) // these keys must not change
    CHECK(detail::key_of_micro_batch(7, 3, m) == types::random_key{.seed = 7, .step = 3 * 65536 + m, .position = 0});
  for (std::uint64_t m = 0; m < 8; ++m) {
    CHECK(detail::key_of_micro_batch(7, 1, 65536 + m) != detail::key_of_micro_batch(7, 2, m));
    CHECK(ops::random_block(detail::key_of_micro_batch(7, 1, 65536 + m), 0) !=
          ops::random_block(detail::key_of_micro_batch(7, 1, m), 0));
    CHECK(ops::random_block(detail::key_of_micro_batch(7, 1, 65536 + m), 0) !=
          ops::random_block(detail::key_of_micro_batch(7, 2, m), 0));
    CHECK(ops::random_block(detail::key_of_micro_batch(7, 0, 131072 + m), 0) !=
          ops::random_block(detail::key_of_micro_batch(7, 0, 65536 + m), 0));
  }
}

} // namespace random_tests
