// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <doctest/doctest.h>

#include <cairn/plan/layout/stack_first.hpp>

namespace layout_stack_first_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("stack_first: nested lives stack, the others go beside them") {
  static constexpr auto list = [] {
    std::array<buffer, 5> out{
        buffer{.bytes = 64, .birth = 0, .death = 9, .stacked = true},
        buffer{.bytes = 64, .birth = 1, .death = 8, .stacked = true}, buffer{.bytes = 128, .birth = 2, .death = 2},
        buffer{.bytes = 64, .birth = 3, .death = 7, .stacked = true}, buffer{.bytes = 64, .birth = 8, .death = 9}};
    detail::stack_first<5>(out.data(), out.size(), no_fence).place(256, 8);
    return out;
  }();
  static_assert(list[0].offset == 0 && list[1].offset == 64 && list[2].offset == 128 && list[3].offset == 128);
  static_assert(list[4].offset == 128);
  CHECK(list[4].end() == 192);
}

// Of two gradients that live side by side, the larger, later one would lie above a hole. The next round places it first.
TEST_CASE("stack_first: what ends too high is placed first in the next round") {
  std::array<buffer, 4> list{buffer{.bytes = 64, .birth = 0, .death = 1}, buffer{.bytes = 64, .birth = 1, .death = 2},
                             buffer{.bytes = 192, .birth = 2, .death = 3}, buffer{.bytes = 64, .birth = 3, .death = 4}};
  detail::stack_first<4> first(list.data(), list.size(), no_fence);
  CHECK(first.place(256, 0) == 320);
  CHECK(first.place(256, 8) == 256);
}

} // namespace layout_stack_first_tests
