// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <doctest/doctest.h>

#include <cairn/plan/layout/buffer.hpp>

namespace layout_buffer_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("buffer: two may share memory, or time, but not both") {
  constexpr buffer a{.bytes = 64, .birth = 0, .death = 3, .offset = 0};
  constexpr buffer b{.bytes = 64, .birth = 3, .death = 5, .offset = 64};
  constexpr buffer c{.bytes = 128, .birth = 4, .death = 4, .offset = 32};
  static_assert(a.meets(b) && b.meets(a) && !a.meets(c) && b.meets(c));
  static_assert(!a.overlaps(b) && !b.overlaps(a) && a.overlaps(c) && c.overlaps(b) && c.end() == 160);
  CHECK(a.meets(b));
}

TEST_CASE("buffer: what is alive at each op") {
  static constexpr std::array<buffer, 3> list{buffer{.bytes = 10, .birth = 0, .death = 1},
                                              buffer{.bytes = 5, .birth = 1, .death = 3},
                                              buffer{.bytes = 7, .birth = 2, .death = 2}};
  constexpr auto live = live_bytes<5>(list);
  static_assert(live[0] == 10 && live[1] == 15 && live[2] == 12 && live[3] == 5 && live[4] == 0);
  static_assert(most_live<5>(list) == 15 && most_live<5>({}) == 0);
}

} // namespace layout_buffer_tests
