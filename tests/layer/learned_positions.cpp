// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/learned_positions.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/layer/gradient_check.hpp>
#include <cairn/net/frozen.hpp>
#include <doctest/doctest.h>

#include "given.hpp"
#include "reference_check.hpp"
#include "sequences.hpp"

namespace learned_positions_tests {

using namespace cairn;

static_assert(layer<LearnedPositions<3, 5>>);
static_assert(LearnedPositions<3, 5>::accepts(given{{3, 5}}) && LearnedPositions<3, 5>::accepts(given{{2, 5}}));
static_assert(!LearnedPositions<3, 5>::accepts(given{{4, 5}}) && !LearnedPositions<3, 5>::accepts(given{{3, 6}}) &&
              !LearnedPositions<3, 5>::accepts(given{{15}}) &&
              !LearnedPositions<3, 5>::accepts(given{tensor{3, 5}.of(element::int32)}));
static_assert(LearnedPositions<3, 5>::parameters(given{{2, 5}})[0].extents == shape{3, 5});

TEST_CASE("LearnedPositions: gradients") {
  CHECK(gradient_fault<LearnedPositions<3, 5>>({{3, 5}}) == "");
  CHECK(gradient_fault<LearnedPositions<7, 5>>({{3, 5}}) == ""); // positions that no sequence has
  CHECK(gradient_fault<LearnedPositions<2, 19>>({{2, 19}}) == "");
  CHECK(gradient_fault<LearnedPositions<1, 1>>({{1, 1}}) == "");
}

TEST_CASE("LearnedPositions: PyTorch's numbers") {
  CHECK(distance_from_torch<LearnedPositions<3, 5>, double>("learned_positions", {3, 5}) < 1e-12);
  CHECK(distance_from_torch<LearnedPositions<3, 5>, float>("learned_positions", {3, 5}) < 1e-6);
  CHECK(distance_from_torch<LearnedPositions<7, 5>, double>("learned_positions_of_more", {3, 5}) < 1e-12);
  CHECK(distance_from_torch<LearnedPositions<7, 5>, float>("learned_positions_of_more", {3, 5}) < 2e-6);
}

TEST_CASE("LearnedPositions: every policy has the same bits, and ranks those of as many micro-batches") {
  testing::check_sequences<LearnedPositions<6, 8>>();
}

TEST_CASE("LearnedPositions: a frozen one keeps its weight") {
  const auto run = testing::train_sequences<testing::sequences<frozen<LearnedPositions<6, 8>>>>();
  CHECK(run.losses[2] != run.losses[0]);
  CHECK(run.named("1.weight") ==
        testing::train_sequences<testing::sequences<frozen<LearnedPositions<6, 8>>>>(0).named("1.weight"));
  CHECK(testing::train_sequences<testing::sequences<LearnedPositions<6, 8>>>().named("1.weight") != run.named("1.weight"));
}

} // namespace learned_positions_tests
