// SPDX-License-Identifier: MIT
#include <cairn/layer/real_arguments.hpp>

#include <doctest/doctest.h>

namespace real_arguments_tests {

using namespace cairn;
using namespace cairn::detail;

TEST_CASE("real_arguments: a list of real elements becomes one of accumulated ones, and others stay") {
  const tensor_list given{tensor{4}, tensor{5}.of(element::int32), tensor{6}.of(element::accumulated).once()};
  const tensor_list found = in_sums(given);
  constexpr tensor_list none{};
  REQUIRE(found.count == 3);
  CHECK(found[0] == tensor{4}.of(element::accumulated));
  CHECK(found[1] == given[1]);
  CHECK(found[2] == given[2]);
  const real_arguments back(arguments{found.items.data(), 1, none});
  CHECK(arguments(back)[0] == given[0]);
}

} // namespace real_arguments_tests
