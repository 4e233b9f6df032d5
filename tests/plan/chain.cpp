// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/chain.hpp>

#include "chains.hpp"

namespace chain_tests {

using namespace cairn;
using namespace cairn::plan;
using namespace cairn::testing;

TEST_CASE("chain: sizes grow with the batch, in whole cache lines") {
  static_assert(detail::bytes{4, 0}.at(1) == 64 && detail::bytes{4, 0}.at(16) == 64 && detail::bytes{4, 0}.at(17) == 128);
  static_assert(detail::bytes{0, 65}.at(1000) == 128 && detail::bytes{}.at(7) == 0);
  static constexpr std::array<stage, 2> stages{dense(32, 16), dropout(16)};
  constexpr chain c{.stages = stages, .batch = 4, .input = {128, 0}};
  static_assert(c.size() == 2 && c.value_bytes(0) == 512 && c.value_bytes(1) == 256 && c.value_bytes(2) == 256);
  static_assert(c.tape_bytes(0) == 0 && c.tape_bytes(1) == 64);
  static_assert(c[1].keeps_tape() && !c[0].keeps_tape() && stage{.tape = {0, 8}}.keeps_tape());
  CHECK(c.value_bytes(1) == 256);
}

TEST_CASE("chain: nobody reads a gradient below the first parameter, unless the chain is lent") {
  static constexpr std::array<stage, 4> stages{relu(8), dropout(8), dense(8, 8), relu(8)};
  constexpr chain c{.stages = stages};
  static_assert(c.lowest_backward() == 2);
  static_assert(chain{.stages = stages, .lent = true}.lowest_backward() == 0);
  static constexpr std::array<stage, 1> none{relu(8)};
  static_assert(chain{.stages = none}.lowest_backward() == 1);
  static_assert(chain{}.lowest_backward() == 0);
  CHECK(c.lowest_backward() == 2);
}

TEST_CASE("chain: a stage in place needs equal sizes") {
  std::array<stage, 2> stages{relu(8), relu(16)};
  const chain c{.stages = stages, .batch = 16, .input = {32, 0}};
  CHECK(c.in_place_forward(0));
  CHECK(c.in_place_backward(0));
  CHECK_FALSE(c.in_place_forward(1));
  CHECK_FALSE(c.in_place_backward(1));
  stages[0].in_place_forward = false;
  CHECK_FALSE(c.in_place_forward(0));
  CHECK(c.in_place_backward(0));
}

TEST_CASE("chain: a gradient on a value needs a stage that reads the value, and equal sizes") {
  std::array<stage, 3> stages{dense(8, 8), dense(8, 16), relu(16)};
  const chain c{.stages = stages, .batch = 16, .input = {32, 0}};
  CHECK(c.input_gradient_on_input(0));
  CHECK(c.input_gradient_on_input(1)); // the size of the output does not matter
  CHECK_FALSE(c.input_gradient_on_input(2));
  stages[0].without_gradient = 64;
  CHECK_FALSE(c.input_gradient_on_input(1));
  stages[0].without_gradient = 0;
  stages[1].reads_input = false;
  CHECK_FALSE(c.input_gradient_on_input(1));
  const std::vector<stage> many(129, dense(8, 8));
  CHECK(chain{.stages = std::span(many).first(128), .batch = 16, .input = {32, 0}}.input_gradient_on_input(0));
  CHECK_FALSE(chain{.stages = many, .batch = 16, .input = {32, 0}}.input_gradient_on_input(0));
}

TEST_CASE("chain: stages at the front that only reshape, but never the last") {
  stage reshape = relu(8);
  reshape.reshapes = true;
  const std::array<stage, 3> stages{reshape, reshape, dense(8, 8)};
  const std::span<const stage> all{stages};
  CHECK(chain{.stages = all, .input = {32, 0}}.reshaped_inputs() == 2);
  CHECK(chain{.stages = all.first(2), .input = {32, 0}}.reshaped_inputs() == 1);
  CHECK(chain{.stages = all.subspan(2), .input = {32, 0}}.reshaped_inputs() == 0);
  CHECK(chain{.stages = all, .batch = 16, .input = {64, 0}}.reshaped_inputs() == 0); // the input has another size
  CHECK(chain{}.reshaped_inputs() == 0);
}

TEST_CASE("chain: a gradient may lack bytes that its value has") {
  constexpr stage with_all = relu(7);
  constexpr stage without = [] {
    stage s = relu(7);
    s.without_gradient = 64;
    return s;
  }();
  static constexpr std::array<stage, 3> stages{with_all, without, without};
  constexpr chain c{.stages = stages, .batch = 5, .input = {28, 0}, .input_without_gradient = 128};
  static_assert(c.value_bytes(0) == 192 && c.gradient_bytes(0) == 64 && c.gradient_bytes(1) == 192);
  static_assert(c.value_bytes(2) == 192 && c.gradient_bytes(2) == 128);
  // A gradient that lacks bytes differs in size from one that does not, so neither can be made in place of the other.
  static_assert(c.in_place_forward(0) && !c.in_place_backward(0));
  static_assert(c.in_place_forward(1) && !c.in_place_backward(1));
  static_assert(c.in_place_forward(2) && c.in_place_backward(2));
  CHECK(c.gradient_bytes(3) == 128);
}

} // namespace chain_tests
