// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <cairn/data/loader.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
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

TEST_CASE("a transform of targets takes them after the inputs, and a loader calls it so") {
  using several = types::input_types<float, int>;
  const auto alone = [](std::span<float> x, std::span<int> y, const shape& each, const types::random_key& key) {
    for (float& number : x) number += static_cast<float>(key.position * 100 + each.size());
    y[0] = -y[0];
  };
  const auto both = [](std::span<float> x, std::span<int> i, std::span<int> y, const std::array<shape, 2>& shapes,
                       const types::random_key& key) {
    x[0] = static_cast<float>(shapes[0].size());
    i[0] = static_cast<int>(shapes[1].size());
    y[0] = static_cast<int>(key.position);
  };
  static_assert(detail::sample_and_target_transform<decltype(alone), float, int>);
  static_assert(!detail::sample_and_target_transform<decltype(alone), float, float>);
  static_assert(!detail::sample_and_target_transform<decltype(alone), several, int>);
  static_assert(detail::sample_and_target_transform<decltype(both), several, int>);
  static_assert(!detail::sample_and_target_transform<detail::no_transform, float, int>);

  const tensor_dataset one{shape{2}, std::vector<float>{1, 2, 3, 4}, 1, std::vector<int>{7, 8}};
  for (const auto& [x, y] : loader{one, sequential_sampler{}, batch<2>{}, alone}) {
    CHECK(std::vector<float>(x.begin(), x.end()) == std::vector<float>{3, 4, 105, 106});
    CHECK(std::vector<int>(y.begin(), y.end()) == std::vector<int>{-7, -8});
  }
  const tensor_dataset two{sample_array{shape{2}, std::vector<float>{1, 2, 3, 4}}, sample_array{shape{1}, std::vector<int>{5, 6}},
                           sample_array{shape{}, std::vector<int>{7, 8}}};
  for (const auto& [x, i, y] : loader{two, sequential_sampler{}, batch<2>{}, both}) {
    CHECK(std::vector<float>(x.begin(), x.end()) == std::vector<float>{2, 2, 2, 4});
    CHECK(std::vector<int>(i.begin(), i.end()) == std::vector<int>{1, 1});
    CHECK(std::vector<int>(y.begin(), y.end()) == std::vector<int>{0, 1});
  }
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
