// SPDX-License-Identifier: MIT
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include <cairn/train/ranks/rank_groups.hpp>
#include <doctest/doctest.h>

namespace rank_groups_tests {

using cairn::detail::rank_groups;
using ranks = std::vector<std::size_t>;

namespace {

// The groups of ranks that have these values.
rank_groups groups_of(const std::vector<int>& values) {
  return {values.size(), [&](std::size_t a, std::size_t b) { return values[a] == values[b]; }};
}

} // namespace

TEST_CASE("rank_groups: ranks with the same are together, the fewest first") {
  const rank_groups groups = groups_of({7, 3, 7, 5, 3, 7});
  REQUIRE(groups.size() == 3);
  CHECK(groups[0] == ranks{3});
  CHECK(groups[1] == ranks{1, 4});
  CHECK(groups[2] == ranks{0, 2, 5});
  CHECK(groups.ranks() == 6);
  CHECK(groups_of({1, 1}).size() == 1);
}

TEST_CASE("rank_groups: the outnumbered ranks, or all where none are") {
  CHECK(groups_of({7, 3, 7, 5, 3, 7}).outnumbered() == ranks{1, 3, 4});
  CHECK(groups_of({2, 1, 1, 1, 1}).outnumbered() == ranks{0});
  CHECK(groups_of({1, 2}).outnumbered() == ranks{0, 1});
  CHECK(groups_of({1, 2, 1, 2}).outnumbered() == ranks{0, 1, 2, 3});
  CHECK(groups_of({4, 3, 2, 1}).outnumbered() == ranks{0, 1, 2, 3});
}

TEST_CASE("rank_groups: ranks are named in words, many of them by the first") {
  CHECK(rank_groups::text({3}) == "rank 3");
  CHECK(rank_groups::text({0, 2}) == "ranks 0 and 2");
  CHECK(rank_groups::text({0, 1, 4}) == "ranks 0, 1 and 4");
  ranks thousand(1000);
  std::iota(thousand.begin(), thousand.end(), std::size_t{0});
  CHECK(rank_groups::text(thousand) == "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 992 more");
  CHECK(rank_groups::joined({}).empty());
}

} // namespace rank_groups_tests
