// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <doctest/doctest.h>

#include <cairn/plan/chain.hpp>

#include "chains.hpp"

using namespace cairn;
using namespace cairn::testing;

TEST_CASE("chain: sizes grow with the batch, in whole cache lines") {
  static_assert(bytes{4, 0}.at(1) == 64 && bytes{4, 0}.at(16) == 64 && bytes{4, 0}.at(17) == 128);
  static_assert(bytes{0, 65}.at(1000) == 128 && bytes{}.at(7) == 0);
  static constexpr std::array<stage, 2> stages{dense(32, 16), dropout(16)};
  constexpr chain c{.stages = stages, .batch = 4, .input = {128, 0}};
  static_assert(c.size() == 2 && c.value_bytes(0) == 512 && c.value_bytes(1) == 256 &&
                c.value_bytes(2) == 256);
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
