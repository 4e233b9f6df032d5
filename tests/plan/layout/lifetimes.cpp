// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/layout/lifetimes.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/schedule.hpp>

#include "../chains.hpp"

namespace layout_lifetimes_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

constexpr std::size_t ops = 500;

auto trace_of(const std::vector<stage>& stages, chain c) {
  c.stages = stages;
  return detail::trace<16, ops>(c, complete<16, 200>(c, moves_of<store_all>(c)).ops());
}

} // namespace

TEST_CASE("lifetimes: one buffer for a value and what is made of it in place") {
  const auto lives = trace_of({dense(16, 16), relu(16), dense(16, 16)}, {.input = {64, 0}});
  // forward 0, forward 1, discard 1, forward 2, loss, discard 3, backward 2, …
  REQUIRE(lives.count == 3); // values 1 and 2; value 3 and its gradient; gradients 2 and 1
  CHECK(lives.uses[0].output == lives.uses[1].output);
  CHECK(lives.buffers[0].birth == 0);
  CHECK(lives.buffers[0].stacked);
  CHECK(lives.buffers[1].birth == 3);
  CHECK(lives.uses[4].input == lives.uses[4].output_gradient);
  CHECK(lives.buffers[2].birth == 6);
  CHECK_FALSE(lives.buffers[2].stacked);
}

namespace {

// Whether the input gradient of stage `position` lies on the stage's input.
template <class Policy>
bool lies_on_input(const std::vector<stage>& stages, std::size_t position, chain c = {.input = {64, 0}}) {
  c.stages = stages;
  const auto made = complete<16, 200>(c, moves_of<Policy>(c));
  const auto lives = detail::trace<16, ops>(c, made.ops());
  for (std::size_t t = 0; t < made.count; ++t)
    if (made.storage[t].kind == op_kind::backward && made.storage[t].position == position)
      return lives.uses[t].input_gradient != 0 && lives.uses[t].input_gradient == lives.uses[t].input;
  return false;
}

} // namespace

TEST_CASE("lifetimes: an input gradient lies on the input where nothing reads that later") {
  const stage linear = dense(16, 16), activation = gelu(16), other = dropout(16);
  CHECK(lies_on_input<store_all>({linear, activation, linear}, 2));
  CHECK(lies_on_input<store_all>({linear, activation, other, linear}, 3));
  CHECK(lies_on_input<sqrt_n>({linear, activation, linear, activation, linear}, 4));
  CHECK(lies_on_input<store_all>({activation, linear, linear}, 2, {.input = {64, 0}, .lent = true}));
  // The sizes of the gradients may differ, but the input gradient has the input's.
  CHECK(lies_on_input<store_all>({linear, activation, dense(16, 64), relu(64)}, 2));

  CHECK_FALSE(lies_on_input<store_all>({linear, activation, linear}, 0)); // there is none
  CHECK_FALSE(
      lies_on_input<store_all>({linear, activation, linear}, 0, {.input = {64, 0}, .lent = true})); // it belongs to others
  // A ReLU's backward reads what the Linear after it takes: whether the Linear does the ReLU's work or not.
  CHECK_FALSE(lies_on_input<store_all>({linear, relu(16), linear}, 2));
  stage alone = relu(16);
  alone.as_activation = 0;
  CHECK_FALSE(lies_on_input<store_all>({linear, alone, linear}, 2));
  // Recomputed, what it takes is made anew for the ReLU.
  CHECK(lies_on_input<recompute_all>({linear, alone, linear}, 2));
  // The derivative of an activation is taken at the input, while the gradient is written, even if the activation's own backward
  // reads nothing.
  stage silent = relu(16);
  silent.reads_output = false;
  CHECK_FALSE(lies_on_input<store_all>({linear, silent, linear}, 2));
  silent.as_activation = 0;
  CHECK(lies_on_input<store_all>({linear, silent, linear}, 2));
  // A stage that says nothing, and one whose gradient lies on that of its output.
  stage apart = linear;
  apart.input_gradient_on_input = false;
  CHECK_FALSE(lies_on_input<store_all>({linear, activation, apart}, 2));
  apart = linear;
  apart.in_place_backward = true;
  CHECK_FALSE(lies_on_input<store_all>({linear, activation, apart}, 2));
}

TEST_CASE("lifetimes: in the order of births, and no longer than needed") {
  const auto lives = trace_of({block(16, 2), dropout(16), dense(16, 4)}, {.batch = 3, .input = {64, 0}});
  for (std::size_t b = 0; b < lives.count; ++b) {
    CHECK(lives.buffers[b].birth <= lives.buffers[b].death);
    CHECK(lives.buffers[b].bytes % 64 == 0);
    if (b > 0) CHECK(lives.buffers[b - 1].birth <= lives.buffers[b].birth);
  }
}

TEST_CASE("lifetimes: a value made in place of the lent output lies there") {
  const chain lent{.input = {64, 0}, .lent = true, .lent_output = true, .lent_input_gradient = true};
  const auto lives = trace_of({dense(16, 16), relu(16)}, lent);
  CHECK(lives.output_buffer == lives.uses[0].output);
  CHECK(lives.buffers[lives.output_buffer - regions].bytes == 0);
  CHECK(lives.uses[1].output == detail::lent(region::output));
  CHECK(trace_of({dense(16, 16), dense(16, 16)}, lent).output_buffer == 0);
}

TEST_CASE("lifetimes: a window lives from the backward that opens it to the one that closes it") {
  const std::vector<stage> stages{dense(16, 16), relu(16), dense(16, 16), dense(16, 16)};
  // The second window closes first.
  const std::array<gradient_window, 3> windows{{{256, 3, 0}, {128, 3, 2}, {64, 0, 0}}};
  chain c{.stages = stages, .input = {64, 0}, .windows = windows};
  const auto made = complete<16, 200>(c, moves_of<store_all>(c));
  const auto lives = detail::trace<16, ops, 2 * ops, 3>(c, made.ops());
  std::array<std::size_t, 4> backward{};
  for (std::size_t t = 0; t < made.count; ++t)
    if (made.storage[t].kind == op_kind::backward) backward[made.storage[t].position] = t;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    CAPTURE(w);
    REQUIRE(detail::is_own(lives.windows[w]));
    const buffer& b = lives.buffers[lives.windows[w] - regions];
    CHECK(b.bytes == windows[w].bytes);
    CHECK(b.birth == backward[windows[w].from]);
    CHECK(b.death == backward[windows[w].to]);
    CHECK_FALSE(b.stacked);
  }
}

TEST_CASE("lifetimes: the gradient that a block hands out outlives the walk") {
  const chain lent{.input = {64, 0}, .lent = true};
  const std::vector<stage> stages{relu(16), dense(16, 16)};
  const auto lives = trace_of(stages, lent);
  chain c = lent;
  c.stages = stages;
  const std::size_t count = complete<16, 200>(c, moves_of<store_all>(c)).count;
  CHECK(lives.buffers[lives.count - 1].death + 1 == count);
}

} // namespace layout_lifetimes_tests
