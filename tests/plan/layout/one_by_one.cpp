// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <doctest/doctest.h>

#include <cairn/plan/layout/one_by_one.hpp>

namespace layout_one_by_one_tests {

using namespace cairn;
using namespace cairn::detail;
using detail::importance;

namespace {

constexpr std::array<buffer, 4> list{buffer{.bytes = 64, .birth = 0, .death = 1}, buffer{.bytes = 64, .birth = 1, .death = 5},
                                     buffer{.bytes = 128, .birth = 3, .death = 4}, buffer{.bytes = 64, .birth = 4, .death = 4}};

constexpr std::array<buffer, 4> placed(importance by, std::size_t rounds) {
  auto out = list;
  detail::one_by_one<4>(out.data(), out.size(), no_fence, by).place(256, rounds);
  return out;
}

} // namespace

TEST_CASE("one_by_one: the longest life lies lowest") {
  static_assert(placed(importance::life, 0)[1].offset == 0);
  static_assert(placed(importance::life, 0)[0].offset == 64);
  CHECK(placed(importance::life, 0)[2].offset == 64);
}

TEST_CASE("one_by_one: what is alive with the most is placed first, and so without a hole") {
  constexpr auto out = placed(importance::peak, 0);
  static_assert(out[1].offset == 0 && out[2].offset == 64 && out[3].offset == 192 && out[0].offset == 64);
  CHECK(out[3].end() == 256);
}

TEST_CASE("one_by_one: rounds never make it worse, and what is pinned stays") {
  std::array<buffer, 12> many{};
  std::size_t seed = 1;
  for (std::size_t i = 0; i < many.size(); ++i) {
    seed = seed * 1103515245 + 12345;
    const auto birth = static_cast<std::uint32_t>(i);
    many[i] = {
        .bytes = 64 * (1 + seed / 65536 % 7), .birth = birth, .death = birth + static_cast<std::uint32_t>(seed / 1024 % 5)};
  }
  many[0].pinned = true;
  many[0].offset = 128;
  for (const auto by : {importance::life, importance::peak}) {
    auto none = many;
    auto some = many;
    const auto first = detail::one_by_one<12>(none.data(), none.size(), no_fence, by).place(0, 0);
    const auto best = detail::one_by_one<12>(some.data(), some.size(), no_fence, by).place(0, 50);
    CHECK(best <= first);
    CHECK(some[0].offset == 128);
  }
}

} // namespace layout_one_by_one_tests
