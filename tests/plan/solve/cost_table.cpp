// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/solve/cost_table.hpp>

#include "../chains.hpp"
#include "../families.hpp"

namespace solve_cost_table_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

auto table_of(const std::vector<stage>& stages, chain c, std::span<const stage_cost> costs = {}) {
  c.stages = stages;
  return cost_table_of<at_run_time>(c, costs);
}

} // namespace

TEST_CASE("cost table: bytes at the chain's batch, and the chain's flags") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    dice d(seed);
    const auto stages = random_stages(d, 6, true);
    const chain c{.stages = stages, .batch = 1 + d.below(5), .input = {100, 0}};
    const auto entries = cost_table_of<at_run_time>(c);
    REQUIRE(entries.size() == 7);
    const std::size_t lowest = c.lowest_backward();
    for (std::size_t i = 0; i < 6; ++i) {
      const entry& e = entries[i];
      const stage& s = stages[i];
      CHECK(e.input == c.value_bytes(i));
      CHECK(e.output == c.value_bytes(i + 1));
      CHECK(e.plain_workspace == s.evaluation_workspace.at(c.batch));
      CHECK(e.in_place_forward == c.in_place_forward(i));
      CHECK(e.cost.forward == s.forward_flops);
      if (i < lowest) continue;
      CHECK(e.output_gradient == c.value_bytes(i + 1));
      CHECK(e.input_gradient == (i > lowest ? c.value_bytes(i) : 0));
      CHECK(e.tape == s.tape.at(c.batch));
      CHECK(e.tape_workspace == (s.keeps_tape() ? s.forward_workspace : s.evaluation_workspace).at(c.batch));
      CHECK(e.backward_workspace == s.backward_workspace.at(c.batch));
      CHECK(e.reads_input == s.reads_input);
      CHECK(e.reads_output == s.reads_output);
      CHECK(e.in_place_backward == c.in_place_backward(i));
      CHECK(e.input_gradient_on_input == (i > lowest && !c.in_place_backward(i) && c.input_gradient_on_input(i)));
      CHECK(e.tape_alone == s.tape_without_output);
      CHECK(e.kept() == e.tape + (s.reads_output ? e.output : 0));
      CHECK(e.cost.tape == (s.tape_without_output ? s.tape_flops : s.forward_flops));
      CHECK(e.cost.backward == s.backward_flops - (i > lowest ? 0 : s.input_gradient_flops));
    }
    // The loss makes the gradient of the last value in the place of that value.
    CHECK(entries[6].input == c.value_bytes(6));
    CHECK(entries[6].input_gradient == c.value_bytes(6));
    CHECK(entries[6].kept() == 0);
  }
}

TEST_CASE("cost table: below the lowest backward a stage keeps nothing and has no backward") {
  const auto entries = table_of({dropout(16), relu(16), dense(16, 16), relu(16)}, {.input = {64, 0}});
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(entries[i].kept() == 0);
    CHECK_FALSE(entries[i].reads_input);
    CHECK(entries[i].input_gradient + entries[i].output_gradient == 0);
    CHECK(entries[i].cost.backward == 0);
    CHECK(entries[i].cost.forward == 16);
  }
  CHECK(entries[2].input_gradient == 0);
  CHECK(entries[2].cost.backward == dense(16, 16).backward_flops - dense(16, 16).input_gradient_flops);
  CHECK(entries[3].input_gradient == 64);
}

TEST_CASE("cost table: what is lent to a composite's chain takes no bytes") {
  const std::vector<stage> stages{dense(16, 16), dense(16, 16), dense(16, 16)};
  chain c{.input = {64, 0}, .lent = true};
  auto entries = table_of(stages, c);
  CHECK(entries[0].input_gradient == 64); // the chain around it may read it
  CHECK(entries[2].output == 64);
  CHECK(entries[2].output_gradient == 0);
  CHECK(entries[3].input == 64);
  CHECK(entries[3].input_gradient == 0);
  CHECK(entries[0].cost.backward == dense(16, 16).backward_flops);
  c.lent_output = c.lent_input_gradient = true;
  entries = table_of(stages, c);
  CHECK(entries[0].input_gradient == 0);
  CHECK(entries[1].input_gradient == 64);
  CHECK(entries[2].output == 0);
  CHECK(entries[3].input == 0);
}

TEST_CASE("cost table: a gradient that lies on the lent one takes no bytes") {
  const std::vector<stage> stages{dense(16, 16), gelu(16), dropout(16)};
  chain c{.input = {64, 0}, .lent = true};
  auto entries = table_of(stages, c);
  CHECK(entries[2].input_gradient == 0);
  CHECK(entries[1].output_gradient == 0);
  CHECK(entries[1].input_gradient == 0); // dropout's and gelu's are made in place
  CHECK(entries[0].output_gradient == 0);
  CHECK(entries[0].input_gradient == 64);
  c.keeps_output_gradient = true; // no gradient may be made in its place
  entries = table_of(stages, c);
  CHECK_FALSE(entries[2].in_place_backward);
  CHECK(entries[2].input_gradient == 64);
  CHECK(entries[1].in_place_backward);
  CHECK(entries[1].output_gradient == 64);
  // All gradients are made in place of the output's gradient.
  entries = table_of({relu(16), gelu(16)}, {.input = {64, 0}, .lent = true});
  CHECK(entries[0].input_gradient + entries[0].output_gradient + entries[1].output_gradient == 0);
}

TEST_CASE("cost table: costs that are given are taken as they are") {
  const std::array<stage_cost, 3> costs{{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}};
  const auto entries = table_of({relu(16), dense(16, 16), block(16, 1)}, {.input = {64, 0}}, costs);
  CHECK(entries[0].cost == stage_cost{1, 0, 0}); // it has no backward
  CHECK(entries[1].cost == costs[1]);
  CHECK(entries[2].cost == costs[2]);
}

TEST_CASE("cost table: a window counts in the backwards of its stages, and in what runs between them") {
  dice d(1);
  const auto stages = mlp_stages(d, 5);
  const std::array<gradient_window, 2> windows{gradient_window{100, 4, 2}, gradient_window{640, 2, 2}};
  chain c{.stages = stages, .input = {64, 0}};
  const auto without = cost_table_of<at_run_time>(c);
  c.windows = windows;
  const auto with = cost_table_of<at_run_time>(c);
  const std::size_t during[]{0, 0, 128 + 640, 128, 128}, before[]{0, 0, 128, 128, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(with[i].backward_workspace - without[i].backward_workspace == during[i]);
    CHECK(with[i].windows == before[i]);
    CHECK(without[i].windows == 0);
  }
}

} // namespace solve_cost_table_tests
