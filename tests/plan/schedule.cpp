// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/schedule.hpp>

#include "chains.hpp"

namespace schedule_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

op forward(std::uint32_t i, bool output, bool tape = false, bool again = false) {
  return {.recomputes = again, .wants_output = output, .wants_tape = tape, .position = i};
}
op backward(std::uint32_t i, bool gradient = true) {
  return {.kind = op_kind::backward, .wants_input_gradient = gradient, .position = i};
}
op loss_op(std::uint32_t n) { return {.kind = op_kind::loss, .position = n}; }
op discard_value(std::uint32_t k) { return {.kind = op_kind::discard_value, .position = k}; }
op discard_tape(std::uint32_t i) { return {.kind = op_kind::discard_tape, .position = i}; }
op discard_gradient(std::uint32_t k) { return {.kind = op_kind::discard_gradient, .position = k}; }

std::vector<op> complete_of(const chain& c, const std::vector<route_step>& moves) {
  const auto made = complete<16, 100>(c, moves);
  return {made.ops().begin(), made.ops().end()};
}

} // namespace

TEST_CASE("schedule: what each op is for, and a discard after the last reader") {
  const std::vector<stage> stages{dense(8, 8), dropout(8), gelu(8)};
  const chain c{.stages = stages, .input = {32, 0}};
  const std::vector<op> expected{
      forward(0, true),   forward(1, true, true), discard_value(1),    forward(2, true), loss_op(3),      discard_value(3),
      backward(2),        discard_value(2),       discard_gradient(3), backward(1),      discard_tape(1), discard_gradient(2),
      backward(0, false), discard_gradient(1)};
  CHECK(complete_of(c, moves_of<store_all>(c)) == expected);
}

TEST_CASE("schedule: what nobody reads is not computed") {
  const std::vector<stage> stages{dense(8, 8), gelu(8), block(8, 2)};
  const chain c{.stages = stages, .input = {32, 0}};
  std::size_t last_outputs = 0;
  for (const op& o : complete_of(c, moves_of<every<3>>(c))) last_outputs += o.position == 2 && o.wants_output;
  CHECK(last_outputs == 1);
  // The last stage of a recomputed segment makes only its tape. A forward whose results are not read is left out.
  const std::vector<route_step> moves{{0, false}, {1, false}, {2, false}, {0, false}, {1, false}, {2, false},
                                      {2, false}, {2, true},  {0, false}, {0, false}, {1, true},  {0, true}};
  const auto ops = complete_of(c, moves);
  CHECK(bool(prove<16>(c, ops)));
  std::size_t forwards = 0;
  for (const op& o : ops) forwards += o.kind == op_kind::forward;
  CHECK(forwards == 4); // 0, 1 and 2 when the route names them the second time, and 0 once more in the backward pass
  const std::vector<stage> below{relu(8), gelu(8), dense(8, 8), relu(8)};
  const chain d{.stages = below, .input = {32, 0}};
  for (const op& o : complete_of(d, moves_of<store_all>(d))) CHECK((o.kind != op_kind::backward || o.position >= 2));
}

TEST_CASE("schedule: a route without a backward, or with too few moves, is seen for what it is") {
  const std::vector<stage> stages{dense(8, 8), gelu(8), dense(8, 8)};
  const chain c{.stages = stages, .input = {32, 0}};
  CHECK(bool(prove<16>(c, complete_of(c, moves_of<forward_pass>(c)), journey::evaluation)));
  const auto full = moves_of<store_all>(c);
  for (std::size_t m = 0; m < full.size(); ++m) {
    auto less = full;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(m));
    CHECK_FALSE(bool(prove<16>(c, complete_of(c, less))));
  }
}

TEST_CASE("schedule: nobody discards what is lent") {
  const std::vector<stage> stages{dense(8, 8), gelu(8)};
  const chain root{.stages = stages, .input = {32, 0}};
  const chain lent{.stages = stages, .input = {32, 0}, .lent = true, .lent_output = true, .lent_input_gradient = true};
  const auto count = [](const std::vector<op>& ops, const op& wanted) { return std::count(ops.begin(), ops.end(), wanted); };
  const auto own = complete_of(root, moves_of<store_all>(root));
  const auto others = complete_of(lent, moves_of<store_all>(lent));
  CHECK(count(own, discard_value(2)) == 1);
  CHECK(count(own, discard_gradient(2)) == 1);
  CHECK(count(own, backward(0, false)) == 1);
  CHECK(count(others, discard_value(2)) == 0);
  CHECK(count(others, discard_gradient(2)) == 0);
  CHECK(count(others, backward(0, true)) == 1);
}

TEST_CASE("schedule: what lasts over the loss") {
  const std::vector<stage> stages{dense(8, 8), gelu(8), dense(8, 8), dense(8, 8)};
  const chain c{.stages = stages, .input = {32, 0}, .lent = true};
  const auto stored = complete<16, 100>(c, moves_of<store_all>(c));
  CHECK(stored.storage[stored.lasting - 1] == forward(2, true)); // the last forward makes what only the loss reads
  CHECK(stored.lasting_output);
  const std::vector<route_step> moves{{0}, {1}, {2}, {3}, {3, true}, {0}, {1}, {2, true}, {0}, {1, true}, {0, true}};
  const auto again = complete<16, 100>(c, moves); // a policy that relies on the last stage's input
  CHECK(again.lasting > 0);
  CHECK(again.storage[again.lasting - 1] == forward(2, true));          // the first backward reads the value of the stage below
  CHECK(complete<16, 100>(c, moves_of<recompute_all>(c)).lasting == 0); // one that stores nothing inside a network
  const auto up = complete<16, 100>(c, moves_of<forward_pass>(c));
  CHECK(up.lasting == 0);
  CHECK(up.loss + 2 == up.count);
}

namespace {

struct source {
  static constexpr std::array<stage, 3> stages{dense(8, 8), gelu(8), dropout(8)};
  static constexpr chain value{.stages = stages, .input = {32, 0}};
};

} // namespace

TEST_CASE("schedule: evaluation keeps at most two values, at compile time") {
  constexpr auto& made = plan_of<source, forward_pass>::schedule;
  static_assert(prove<3>(source::value, made.ops(), journey::evaluation));
  static_assert(prove<3>(source::value, plan_of<source, every<2>>::schedule.ops()));
  CHECK(made.count == 7);
}

TEST_CASE("schedule: what a composite makes again before its first backward is on its way back") {
  const std::vector<stage> stages{dense(16, 16), dense(16, 16)};
  const std::vector<route_step> moves{{0, false}, {1, false}, {0, false}, {1, true}, {0, true}};
  const chain lent{.stages = stages, .input = {64, 0}, .lent = true};
  const auto of_composite = complete<16, 100>(lent, moves);
  CHECK(bool(prove<16>(lent, of_composite.ops())));
  CHECK(of_composite.loss == 3); // forward 0, forward 1, discard value 1, loss
  CHECK(of_composite.storage[5] == forward(0, true, false, true));
  CHECK(of_composite.lasting == 0); // the backward pass makes all that it reads
  // A borrowed output stays where it is: only what the backward pass lacks is recomputed.
  const std::vector<stage> masked{dense(16, 16), relu(16)};
  chain output = lent;
  output.stages = masked;
  output.lent_output = true;
  const std::vector<route_step> twice{{0, false}, {1, false}, {0, false}, {1, false}, {1, true}, {0, true}};
  const auto kept = complete<16, 100>(output, twice);
  CHECK(bool(prove<16>(output, kept.ops())));
  std::size_t runs = 0;
  for (const op& o : kept.ops()) runs += o.kind == op_kind::forward && o.position == 1;
  CHECK(runs == 1);
  // At the root, stage 0 runs again before the loss; its first result is read by forward 1 only.
  const chain root{.stages = stages, .input = {64, 0}};
  const auto of_root = complete<16, 100>(root, moves);
  CHECK(bool(prove<16>(root, of_root.ops())));
  CHECK(of_root.loss == 4);
  CHECK(of_root.storage[3] == forward(0, true, false, true));
}

} // namespace schedule_tests
