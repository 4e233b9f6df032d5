// SPDX-License-Identifier: MIT
#include <cairn/layer/dropout.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/layer/tanh.hpp>
#include <cairn/net/repeat.hpp>

#include "layers.hpp"
#include "planned.hpp"

namespace repeat_tests {

using namespace cairn;

namespace {

using Block = Sequential<Linear<16, 16>, ReLU>;
using Short = Sequential<Linear<9, 16>, Repeat<3, Block>, Linear<16, 2>>;
using Long = Sequential<Linear<9, 16>, Linear<16, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 2>>;
using Nested =
    Sequential<Repeat<2, Sequential<Repeat<2, Sequential<Linear<16, 16>, testing::Witness, Tanh>>, Dropout<percent<20>>>>,
               Repeat<3, ReLU>, Linear<16, 16>>;

} // namespace

TEST_CASE("repeat: one block for the compiler, N in the network") {
  using b = blueprint_of<Short, 4>;
  static_assert(b::elements::size == 4);
  static_assert(b::size == 8);
  static_assert(b::parameters == 9 * 16 + 16 + 3 * (16 * 16 + 16) + 16 * 2 + 2);
}

TEST_CASE("repeat: it is the network that is written out") {
  const auto repeated = testing::plan<Short, 4, float>();
  const auto written = testing::plan<Long, 4, float>();
  CHECK(repeated.arena == written.arena);
  CHECK(repeated.parameters == written.parameters);
  testing::queue q{1};
  testing::replica<float> a(repeated), b(written);
  CHECK(a.step(q, 4, true) == b.step(q, 4, true));
}

TEST_CASE("repeat: every policy has the oracle's bits") { testing::check_network<Short, 5, double>(); }

TEST_CASE("repeat: a repeat in a repeat has the oracle's bits") { testing::check_network<Nested, 5, float>(); }

} // namespace repeat_tests
