// SPDX-License-Identifier: MIT
#include <vector>

#include <cairn/comm/rank_call.hpp>
#include <doctest/doctest.h>

namespace rank_call_tests {

using cairn::detail::rank_call;

namespace {

rank_call sum_of(std::vector<float>& values) { return {rank_call::kind::sum_float, 0, values.data(), values.size()}; }

} // namespace

TEST_CASE("calls match in kind, size and root, not in address") {
  std::vector<float> one(1);
  std::vector<float> two(2);
  CHECK(sum_of(one).matches({rank_call::kind::sum_float, 0, nullptr, 1}));
  CHECK_FALSE(sum_of(one).matches(sum_of(two)));
  CHECK_FALSE(sum_of(one).matches({rank_call::kind::sum_double, 0, nullptr, 1}));
  CHECK_FALSE(rank_call{rank_call::kind::broadcast, 0, nullptr, 1}.matches({rank_call::kind::broadcast, 1, nullptr, 1}));
  CHECK(sum_of(two).text() == "all_reduce of 2 float");
  CHECK(rank_call{rank_call::kind::broadcast, 1, nullptr, 8}.text() == "broadcast of 8 bytes from rank 1");
  const rank_call exchange{rank_call::kind::exchange, 0, nullptr, 8};
  CHECK(exchange.text() == "exchange of 8 bytes");
  CHECK_FALSE(exchange.matches({rank_call::kind::broadcast, 0, nullptr, 8}));
}

} // namespace rank_call_tests
