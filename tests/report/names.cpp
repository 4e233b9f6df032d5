// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/report/names.hpp>
#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("names: a type is named as its user typed it") {
  CHECK(detail::typed_name("cairn::Linear<784ul, 512ul, true>") == "Linear<784, 512>");
  CHECK(detail::typed_name("cairn::Linear<784, 512, false>") == "Linear<784, 512, false>");
  CHECK(detail::typed_name("cairn::Residual<cairn::Linear<16UL, 16UL, true>, cairn::ReLU>") ==
        "Residual<Linear<16, 16>, ReLU>");
  CHECK(detail::typed_name("A<cairn::B<C<1> > >") == "A<B<C<1>>>");
}

TEST_CASE("name_of: layers, policies and networks as they were typed") {
  CHECK(name_of<revolve<3>>() == "revolve<3>");
  CHECK(name_of<Linear<8, 16>>() == "Linear<8, 16>");
  CHECK(name_of<Residual<Linear<4, 4>, ReLU>>() == "Residual<Linear<4, 4>, ReLU>");
}

TEST_CASE("names: each stage has one") {
  using Net = Sequential<Linear<9, 16>, Repeat<2, Sequential<ReLU, Residual<Linear<16, 16>>>>>;
  CHECK(stage_names<blueprint_of<Net, 4>>() == std::vector<std::string>{"Linear<9, 16>", "ReLU",
                                                                        "Residual<Linear<16, 16>>", "ReLU",
                                                                        "Residual<Linear<16, 16>>"});
}

TEST_CASE("typed_name: a percentage as it was typed, another ratio as it is") {
  CHECK(detail::typed_name("cairn::Dropout<std::ratio<20, 100> >") == "Dropout<percent<20>>");
  CHECK(detail::typed_name("cairn::Dropout<std::ratio<1, 3> >") == "Dropout<std::ratio<1, 3>>");
}
