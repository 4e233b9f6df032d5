// SPDX-License-Identifier: MIT
#include <cairn/net/wrong_network.hpp>
#include <doctest/doctest.h>

namespace wrong_network_tests {

using namespace cairn;

// The diagnostics are in tests/compile_fail/. A diagnostic that is not asked for says nothing.
TEST_CASE("wrong_network: diagnostics are empty types that can be passed around") {
  static_assert(sizeof(detail::repeated_joint<1, int, int, int>) == 1 && sizeof(detail::empty_network<int>) == 1);
  static_assert(sizeof(detail::residual_ends<int, int, int>) == 1 && sizeof(detail::begins_with<int>) == 1);
}

} // namespace wrong_network_tests
