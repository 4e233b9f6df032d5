// SPDX-License-Identifier: MIT
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/policies.hpp>
#include <cairn/plan/schedule.hpp>

#include "chains.hpp"

namespace fusion_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

struct count {
  std::size_t forward = 0, backward = 0;
};

// Counts the ops that also do the work of another op, which must be the next op that does work.
template <class Policy = store_all>
count fused(std::vector<stage> stages, chain c) {
  c.stages = stages;
  const auto made = complete<16, 200>(c, moves_of<Policy>(c));
  count out;
  for (std::size_t t = 0; t < made.count; ++t) {
    const op& o = made.storage[t];
    if (!o.takes_next) continue;
    ++(o.kind == op_kind::forward ? out.forward : out.backward);
    const std::size_t u = next_work(made.ops(), t);
    REQUIRE(u < made.count);
    CHECK(made.storage[u].absorbed);
    CHECK(made.storage[u].kind == o.kind);
    CHECK(made.storage[u].position == (o.kind == op_kind::forward ? o.position + 1 : o.position - 1));
  }
  std::size_t absorbed = 0;
  for (const op& o : made.ops()) absorbed += o.absorbed;
  CHECK(absorbed == out.forward + out.backward);
  return out;
}

bool is(count c, std::size_t forward, std::size_t backward) { return c.forward == forward && c.backward == backward; }

} // namespace

TEST_CASE("fusion: a product takes the activation after it, and the derivative of the one before it") {
  const chain c{.batch = 2, .input = {32, 0}};
  CHECK(is(fused({dense(8, 8), relu(8), dense(8, 8), relu(8)}, c), 2, 1));
  CHECK(is(fused({dense(8, 8), relu(8), dense(8, 4)}, c), 1, 1));
  // The activation at the beginning of the chain has no backward, and an activation after an activation is not fused.
  CHECK(is(fused({relu(8), dense(8, 8), relu(8), relu(8)}, c), 1, 0));
  // A recomputed activation is fused again. In the backward pass it is not: other forwards run between the two ops.
  CHECK(is(fused<recompute_all>({dense(8, 8), relu(8), dense(8, 8)}, c), 2, 0));
}

TEST_CASE("fusion: not where somebody else reads the value between") {
  const chain c{.batch = 2, .input = {32, 0}};
  CHECK(is(fused({dense(8, 8), gelu(8), dense(8, 8)}, c), 0, 0)); // gelu's backward reads the value between
  stage reads_both = dense(8, 8);
  reads_both.reads_output = true;
  CHECK(is(fused({reads_both, relu(8), dense(8, 8)}, c), 0, 1));
  stage blind = dense(8, 8); // its backward reads nothing
  blind.reads_input = false;
  CHECK(is(fused({dense(8, 8), relu(8), blind}, c), 1, 0));
}

TEST_CASE("fusion: not where it would not be in place") {
  const chain c{.batch = 2, .input = {32, 0}};
  stage apart = relu(8);
  apart.in_place_forward = apart.in_place_backward = false;
  CHECK(is(fused({dense(8, 8), apart, dense(8, 8)}, c), 0, 0));
  CHECK(is(fused({dense(8, 8), relu(64), dense(64, 8)}, c), 0, 0)); // the sizes differ
  stage with_tape = relu(8);
  with_tape.tape = {1, 0};
  CHECK(is(fused({dense(8, 8), with_tape, dense(8, 8)}, c), 0, 0));
  // The input gradient of a composite's chain is made in another place if that place is borrowed.
  CHECK(is(fused({relu(8), dense(8, 8)}, {.input = {32, 0}, .lent = true}), 0, 1));
  CHECK(is(fused({relu(8), dense(8, 8)}, {.input = {32, 0}, .lent = true, .lent_input_gradient = true}), 0, 0));
}

} // namespace fusion_tests
