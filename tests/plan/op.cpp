// SPDX-License-Identifier: MIT
#include <array>

#include <doctest/doctest.h>

#include <cairn/plan/op.hpp>

#include "chains.hpp"

namespace op_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

TEST_CASE("op: discards do no work") {
  static_assert(op{.kind = op_kind::discard_value}.is_discard() && op{.kind = op_kind::discard_tape}.is_discard());
  static_assert(op{.kind = op_kind::discard_gradient}.is_discard() && !op{.kind = op_kind::loss}.is_discard());
  static_assert(!op{.kind = op_kind::forward}.is_discard() && !op{.kind = op_kind::backward}.is_discard());
  CHECK(op{.position = 1} != op{.position = 2});
}

TEST_CASE("op: flops leave out what is not made") {
  static constexpr std::array<stage, 2> stages{dense(2, 3), block(3, 1)};
  constexpr chain c{.stages = stages};
  constexpr std::array<op, 1> up{op{.wants_output = true, .position = 0}};
  static_assert(flops(c, up) == 12);
  constexpr std::array<op, 2> tape{op{.wants_output = true, .wants_tape = true, .position = 1},
                                   op{.recomputes = true, .wants_tape = true, .position = 1}};
  static_assert(flops(c, tape) == 36 + 18);
  constexpr std::array<op, 4> back{
      op{.kind = op_kind::loss, .position = 2}, op{.kind = op_kind::backward, .wants_input_gradient = true, .position = 0},
      op{.kind = op_kind::backward, .position = 0}, op{.kind = op_kind::discard_gradient, .position = 2}};
  static_assert(flops(c, back) == 24 + 12);
  CHECK(flops(c, {}) == 0);
}

} // namespace op_tests
