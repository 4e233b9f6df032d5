// SPDX-License-Identifier: MIT
// Some tests exist for every combination of policies, networks and element types, and to the compiler each combination is a
// network of its own. The build option CAIRN_LONG_TESTS builds all of them; without it there are some of each kind.
#pragma once

namespace testing {

#ifdef CAIRN_LONG_TESTS
inline constexpr bool long_tests = true;
#else
inline constexpr bool long_tests = false;
#endif

} // namespace testing
