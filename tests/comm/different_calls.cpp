// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <cairn/comm/different_calls.hpp>
#include <doctest/doctest.h>

namespace different_calls_tests {

using cairn::detail::told_call;

namespace {
std::string text(const std::vector<told_call>& calls) { return cairn::detail::text_of_different_calls(calls); }
} // namespace

TEST_CASE("different_calls: what most ranks do comes first, and the odd one last") {
  CHECK(text({{1, "A"}, {1, "B"}}) == "the ranks make different calls: call 2 is A on rank 0, but B on rank 1");
  CHECK(text({{1, "A"}, {1, "B"}, {1, "B"}}) == "the ranks make different calls: call 2 is B on ranks 1 and 2, but A on rank 0");
  CHECK(text({{1, "A"}, {1, "A"}, {1, "B"}, {1, "A"}}) ==
        "the ranks make different calls: call 2 is A on ranks 0, 1 and 3, but B on rank 2");
}

TEST_CASE("different_calls: numbers are told where they differ, and ranks of which nothing is known are left out") {
  CHECK(text({{4, "A"}, {5, "A"}, {4, "A"}}) ==
        "the ranks make different calls: call 5 is A on ranks 0 and 2, but call 6 is A on rank 1");
  CHECK(text({{4, "A"}, {0, ""}, {4, "B"}}) == "the ranks make different calls: call 5 is A on rank 0, but B on rank 2");
}

} // namespace different_calls_tests
