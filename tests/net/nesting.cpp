// SPDX-License-Identifier: MIT
#include <cairn/net/nesting.hpp>

#include <cairn/layer/inputs.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/checkpoint.hpp>
#include <cairn/net/frozen.hpp>
#include <cairn/net/repeat.hpp>
#include <cairn/net/residual.hpp>
#include <doctest/doctest.h>

namespace nesting_tests {

using namespace cairn;
using detail::nesting;
using detail::places_of;

TEST_CASE("nesting: a chain without other Sequentials needs no text") {
  CHECK(nesting<Sequential<ReLU, ReLU>>::value.empty());
  CHECK(nesting<Sequential<ReLU, Repeat<3, ReLU>, Residual<Sequential<ReLU, ReLU>>>>::value.empty());
  CHECK(nesting<ReLU>::value.empty());
}

TEST_CASE("nesting: Sequentials stand in brackets, as often as they are repeated") {
  CHECK(nesting<Sequential<ReLU, Sequential<ReLU, Sequential<ReLU>>, ReLU>>::value == ".(.(.)).");
  CHECK(nesting<Sequential<Repeat<2, Sequential<ReLU, Residual<ReLU>>>, Sequential<>>>::value == "(..)(..)()");
  CHECK(nesting<Repeat<2, Repeat<2, Sequential<ReLU>>>>::value == "(.)(.)(.)(.)");
}

TEST_CASE("nesting: parts take as many places as in an nn.Sequential of the same layers") {
  static_assert(places_of<ReLU>() == 1);
  static_assert(places_of<Input<3>>() == 0);
  static_assert(places_of<Sequential<ReLU, ReLU>>() == 1);
  static_assert(places_of<Repeat<3, Sequential<ReLU, ReLU>>>() == 3);
  static_assert(places_of<Repeat<2, Repeat<3, ReLU>>>() == 6);
  static_assert(places_of<Residual<ReLU, ReLU>>() == 1);
  static_assert(places_of<frozen<Sequential<ReLU, ReLU>>>() == 1);
  static_assert(places_of<frozen<Repeat<3, ReLU>>>() == 3);
  static_assert(places_of<checkpoint<sqrt_n, Repeat<2, ReLU>>>() == 2);
  CHECK(nesting<Sequential<frozen<Sequential<ReLU>>>>::value.empty()); // a chain of its own
}

} // namespace nesting_tests
