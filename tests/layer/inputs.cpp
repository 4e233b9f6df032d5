// SPDX-License-Identifier: MIT
#include <cairn/layer/inputs.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"

namespace inputs_tests {

using namespace cairn;

namespace {

using Two = Inputs<dims<4>, dims<2, 3>, constant<4>>;
using Tokens = Inputs<integers<6>, dims<4>, batch_constant<2, 3>>;

using Counts = Inputs<dims<4>, integer_constant<>, batch_integer_constant<2>>;

constexpr tensor token = integers<6>::value;

} // namespace

static_assert(layer<Two> && layer<Tokens> && layer<Input<28, 28, 1>>);
static_assert(Two::inputs == tensor_list{{4}, {2, 3}} && Two::constants == tensor_list{tensor{4}.constant()});
static_assert(Two::accepts(given{{{4}, {2, 3}}, {tensor{4}.constant()}}) && !Two::accepts(given{{4}, {2, 3}}));
static_assert(!Two::accepts(given{{{4}, {2, 3}}, {tensor{5}.constant()}}));
static_assert(Tokens::takes == 2 && Tokens::outputs(given{token, {4}}) == tensor_list{token, {4}});
static_assert(Tokens::accepts(given{{token, {4}}, {tensor{2, 3}.constant().once()}}));
static_assert(!Tokens::accepts(given{{token, {4}}, {tensor{2, 3}.constant()}}));
static_assert(!Tokens::accepts(given{{tensor{6}, tensor{4}}, {tensor{2, 3}.constant().once()}}));

static_assert(layer<Counts> && Counts::takes == 1);
static_assert(Counts::accepts(given{{{4}}, {integer_constant<>::value, batch_integer_constant<2>::value}}));
static_assert(!Counts::accepts(given{{{4}}, {integer_constant<1>::value, batch_integer_constant<2>::value}}));
static_assert(!Counts::accepts(given{{{4}}, {integer_constant<>::value, integer_constant<2>::value}}));
static_assert(!Counts::accepts(given{{{4}}, {constant<>::value, batch_integer_constant<2>::value}}));

static_assert(Input<28, 28, 1>::inputs == tensor_list{{28, 28, 1}});
static_assert(Input<28, 28, 1>::outputs(given{{28, 28, 1}}) == tensor_list{{28, 28, 1}});
static_assert(Input<3>::accepts(given{{3}}) && !Input<3>::accepts(given{{4}}) && !Input<3>::accepts(given{{3, 1}}));

TEST_CASE("Inputs: the identity of its tensors") {
  CHECK(gradient_fault<Two>(Two::inputs, Two::constants) == "");
  CHECK(gradient_fault<Tokens>(Tokens::inputs, Tokens::constants) == "");
  CHECK(gradient_fault<Counts>(Counts::inputs, Counts::constants) == "");
  alone<Tokens, double> own(Tokens::inputs, 3, Tokens::constants);
  const auto x = own.some_inputs();
  CHECK(own.forward(x).same_bits(x));
}

TEST_CASE("Input: the identity") {
  CHECK(gradient_fault<Input<2, 3>>({{2, 3}}) == "");
  alone<Input<5>, float> own({{5}}, 2);
  const auto x = own.some_inputs();
  CHECK(own.forward(x).same_bits(x));
}

} // namespace inputs_tests
