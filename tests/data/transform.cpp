// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include <cairn/data/transform.hpp>

namespace transform_tests {

using namespace cairn;

TEST_CASE("sample_transform accepts callables, lambdas among them") {
  const auto negate = [](std::span<float> sample, const shape&, const types::random_key&) {
    for (float& x : sample) x = -x;
  };
  static_assert(detail::sample_transform<decltype(negate), float>);
  static_assert(!detail::sample_transform<decltype(negate), double>);
  static_assert(detail::sample_transform<detail::no_transform, double>);
  static_assert(!detail::sample_transform<int, float>);
}

TEST_CASE("a transform of samples with several inputs is given all of them") {
  using several = types::input_types<float, int>;
  const auto both = [](std::span<float>, std::span<int>, const std::array<shape, 2>&, const types::random_key&) {};
  const auto first = [](std::span<float>, const shape&, const types::random_key&) {};
  static_assert(detail::sample_transform<decltype(both), several> && !detail::sample_transform<decltype(both), float>);
  static_assert(detail::sample_transform<decltype(first), float> && !detail::sample_transform<decltype(first), several>);
  static_assert(detail::sample_transform<detail::no_transform, several>);
}

TEST_CASE("sample_key differs by seed, epoch and sample, beyond 32 bits too") {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::size_t keys = 0;
  for (const std::uint64_t seed : {0ULL, 1ULL})
    for (const std::uint64_t epoch : {0ULL, 1ULL})
      for (const std::uint64_t sample : {0ULL, 1ULL, 0x100000000ULL, 0x100000001ULL, 0x200000000ULL}) {
        const auto block = ops::random_block(detail::sample_key(seed, epoch, sample), 0);
        seen.emplace((std::uint64_t{block[0]} << 32) | block[1], (std::uint64_t{block[2]} << 32) | block[3]);
        ++keys;
      }
  CHECK(seen.size() == keys);
  static_assert(detail::sample_key(3, 2, 1) == detail::sample_key(3, 2, 1));
  static_assert(detail::sample_key(3, 2, 1).seed != 3); // a layer with the same seed draws other numbers
}

} // namespace transform_tests
