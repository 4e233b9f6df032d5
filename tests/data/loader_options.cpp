// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>

#include <cairn/data/loader_options.hpp>

namespace loader_options_tests {

using namespace cairn;

// The defaults that programs rely on: the last batch is read, and every wait ends.
TEST_CASE("a loader's options are those of torch's DataLoader where a program names none, with a deadline") {
  constexpr types::loader_options given{};
  CHECK(given.rows == 0);
  CHECK(!given.drop_last);
  CHECK(given.prefetch == 2);
  CHECK(given.deadline > std::chrono::seconds(1));
  CHECK(given.deadline < std::chrono::hours(1));
}

TEST_CASE("two places of a loader are equal where epoch and batch are") {
  constexpr types::loader_place here{3, 7};
  CHECK(here == types::loader_place{3, 7});
  CHECK(here != types::loader_place{3, 8});
  CHECK(here != types::loader_place{4, 7});
}

} // namespace loader_options_tests
