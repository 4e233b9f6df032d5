// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <doctest/doctest.h>

#include <cairn/plan/chain.hpp>

#include "chains.hpp"

using namespace cairn;
using namespace cairn::testing;

TEST_CASE("chain: sizes grow with the batch, in whole cache lines") {
  static_assert(detail::bytes{4, 0}.at(1) == 64 && detail::bytes{4, 0}.at(16) == 64 && detail::bytes{4, 0}.at(17) == 128);
  static_assert(detail::bytes{0, 65}.at(1000) == 128 && detail::bytes{}.at(7) == 0);
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

TEST_CASE("chain: a value of several tensors, and a gradient of some of them") {
  constexpr parts v{.per_sample = {16, 4, 8}, .gradients = 0b101};
  static_assert(v.offset(0, 5, 0b111) == 0 && v.offset(1, 5, 0b111) == 128 && v.offset(2, 5, 0b111) == 192);
  static_assert(v.offset(2, 5, v.gradients) == 128); // without the second
  static_assert(v.value_bytes(5) == 256 && v.gradient_bytes(5) == 192);
  static_assert(v.value_bytes(1) == 192 && parts{}.value_bytes(9) == 0);

  static constexpr std::array<stage, 3> stages{relu(7), relu(7), relu(7)};
  static constexpr std::array<parts, 4> values{v, parts{.per_sample = {16, 4, 8}, .gradients = 0b111},
                                               parts{.per_sample = {16, 4, 8}, .gradients = 0b111},
                                               parts{.per_sample = {16, 8, 4}, .gradients = 0b111}};
  constexpr chain c{.stages = stages, .batch = 5, .input = {28, 0}, .values = values};
  static_assert(c.value_bytes(0) == 256 && c.gradient_bytes(0) == 192 && c.gradient_bytes(1) == 256);
  // In place, every tensor stays where it is; a gradient that lacks one has another layout.
  static_assert(c.in_place_forward(0) && !c.in_place_backward(0));
  static_assert(c.in_place_forward(1) && c.in_place_backward(1));
  static_assert(c.value_bytes(2) == c.value_bytes(3) && !c.in_place_forward(2) && !c.in_place_backward(2));
  CHECK(c.gradient_bytes(0) == 192);
}
