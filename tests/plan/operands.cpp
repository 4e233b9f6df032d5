// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cairn/plan/operands.hpp>

namespace operands_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("operands: a place counts in lines, and nothing is nowhere") {
  static_assert(place{region::tape, 3}.offset() == 3 * alignment);
  static_assert(place{}.where == region::none && operands{} == operands{});
  static_assert(place{region::tape, 3} != place{region::workspace, 3} && place{region::tape, 3} != place{region::tape, 4});
  static_assert(static_cast<std::size_t>(region::workspace) + 1 == regions);
  // Offsets may exceed 4 GiB, as lines are counted and not bytes.
  CHECK(place{region::workspace, 1U << 31U}.offset() == std::size_t{1} << 37U);
}

} // namespace operands_tests
