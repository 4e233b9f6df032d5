// SPDX-License-Identifier: MIT
#include <cairn/ops/dropout/cpu.hpp>
#include <cairn/ops/dropout/dropout.hpp>
#include <cairn/ops/dropout/reference.hpp>

#include <doctest/doctest.h>

#include "../elementwise/shifted_cuts.hpp"

namespace dropout_dropout_tests {

using namespace cairn;

namespace {

// A key that uses all its parts, and both halves of the step and the seed.
constexpr types::random_key key{.seed = 0x123456789ABCDEFU, .step = 0xABCD12345678U, .position = 77};
constexpr ops::dropout_rate third{0x55555555U, 1.5};

template <class T>
bool like_reference(std::size_t count, std::size_t threads) {
  cpu device({.threads = threads});
  const auto x = steps<T>(-1, 1, count + 2);
  std::vector<T> expected(count + 1, T{9}), found(count + 1, T{9});
  detail::dropout_reference(count, expected.data(), x.data(), key, third);
  dropout(device.compute(), count, found.data(), x.data(), key, third);
  return expected == found;
}

} // namespace

TEST_CASE("dropout: the reference's bits") {
  for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 2048U, 2049U}) {
    CHECK(like_reference<float>(count, 1));
    CHECK(like_reference<double>(count, 1));
  }
  CHECK(like_reference<float>(100000, 2));
}

TEST_CASE("dropout: every instruction set draws the same, far along the stream too") {
  constexpr std::size_t begin = std::size_t{1} << 36;
  std::vector<float> expected(128), found(128);
  detail::write_factors_plain(expected.data(), 128, key, begin, third);
  for (std::size_t i = 0; i < 128; ++i) CHECK(expected[i] == (ops::random_bits(key, begin + i) < third.threshold ? 0.0F : 1.5F));
  for (const auto set : instruction_sets()) {
    if (set == detail::instruction_set::avx2) detail::write_factors_avx2(found.data(), 128, key, begin, third);
    if (set == detail::instruction_set::avx512) detail::write_factors_avx512(found.data(), 128, key, begin, third);
    if (set != detail::instruction_set::plain) CHECK(found == expected);
  }
}

} // namespace dropout_dropout_tests
