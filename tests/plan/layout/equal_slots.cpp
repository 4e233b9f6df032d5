// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/layout/equal_slots.hpp>

namespace layout_equal_slots_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

std::size_t placed(std::vector<buffer>& list, std::size_t bound) {
  return detail::equal_slots<at_run_time>(list.data(), list.size()).place(bound);
}

bool apart(const std::vector<buffer>& list) {
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (list[i].meets(list[j]) && list[i].overlaps(list[j])) return false;
  return true;
}

// Lives of random lengths, more varied than those of any schedule.
std::vector<buffer> random_lives(std::uint64_t seed, std::size_t count) {
  std::vector<buffer> list(count);
  std::uint64_t number = seed * 2 + 1;
  const auto next = [&](std::uint64_t below) {
    number = number * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>((number >> 33) % below);
  };
  for (std::size_t i = 0; i < count; ++i) {
    list[i].bytes = 128;
    list[i].birth = static_cast<std::uint32_t>(i / 2);
    list[i].death = list[i].birth + (next(4) == 0 ? next(60) : next(3));
  }
  return list;
}

} // namespace

TEST_CASE("equal_slots: buffers of one size take as many slots as live at once, and no more") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<buffer> list = random_lives(seed, 200);
    const std::size_t bound = most_live<at_run_time>(list, 200);
    CHECK(placed(list, bound) == bound);
    CHECK(apart(list));
    CHECK(placed(list, bound - 1) == no_fence);
  }
}

TEST_CASE("equal_slots: a few of other sizes come after, each at the lowest free place") {
  std::size_t tight = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<buffer> list = random_lives(seed, 200);
    list[17].bytes = 64;
    list[60].bytes = 192;
    list[61].bytes = 64;
    const std::size_t bound = most_live<at_run_time>(list, 200);
    const std::size_t extent = placed(list, 2 * bound);
    CHECK(extent >= bound);
    CHECK(extent <= bound + 256);
    CHECK(apart(list));
    tight += extent == bound ? 1 : 0;
  }
  CHECK(tight > 10);
}

TEST_CASE("equal_slots: many sizes, or pinned buffers, are left to others") {
  std::vector<buffer> list = random_lives(1, 40);
  for (std::size_t i = 0; i < 9; ++i) list[i].bytes = 64;
  CHECK(placed(list, 100000) == no_fence);
  list = random_lives(1, 40);
  list[3].pinned = true;
  CHECK(placed(list, 100000) == no_fence);
}

TEST_CASE("equal_slots: a constant") {
  static constexpr auto list = [] {
    std::array<buffer, 4> out{buffer{.bytes = 64, .birth = 0, .death = 1}, buffer{.bytes = 64, .birth = 1, .death = 2},
                              buffer{.bytes = 64, .birth = 2, .death = 3}, buffer{.bytes = 32, .birth = 3, .death = 3}};
    detail::equal_slots<4>(out.data(), out.size()).place(128);
    return out;
  }();
  static_assert(list[0].offset == 0 && list[1].offset == 64 && list[2].offset == 0);
  CHECK(list[3].offset == 64);
}

} // namespace layout_equal_slots_tests
