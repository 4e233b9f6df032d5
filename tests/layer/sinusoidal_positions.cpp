// SPDX-License-Identifier: MIT
// long to compile
#include <cairn/layer/sinusoidal_positions.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "given.hpp"
#include "reference_check.hpp"
#include "sequences.hpp"

namespace sinusoidal_positions_tests {

using namespace cairn;

static_assert(layer<SinusoidalPositions> && SinusoidalPositions::accepts(given{{3, 5}}));
static_assert(!SinusoidalPositions::accepts(given{{15}}) && !SinusoidalPositions::accepts(given{{2, 3, 5}}) &&
              !SinusoidalPositions::accepts(given{tensor{3, 5}.of(element::int32)}));

TEST_CASE("SinusoidalPositions: gradients") {
  CHECK(gradient_fault<SinusoidalPositions>({{3, 5}}) == "");
  CHECK(gradient_fault<SinusoidalPositions>({{1, 1}}) == "");
  CHECK(gradient_fault<SinusoidalPositions>({{9, 6}}) == ""); // more than one part's positions
}

TEST_CASE("SinusoidalPositions: PyTorch's numbers") {
  CHECK(distance_from_torch<SinusoidalPositions, double>("sinusoidal_positions", {9, 6}) < 1e-12);
  CHECK(distance_from_torch<SinusoidalPositions, float>("sinusoidal_positions", {9, 6}) < 1e-6);
  CHECK(distance_from_torch<SinusoidalPositions, double>("sinusoidal_positions_odd", {3, 7}) < 1e-12);
  CHECK(distance_from_torch<SinusoidalPositions, float>("sinusoidal_positions_odd", {3, 7}) < 1e-6);
}

TEST_CASE("SinusoidalPositions: every policy has the same bits, and ranks those of as many micro-batches") {
  testing::check_sequences<SinusoidalPositions>();
}

} // namespace sinusoidal_positions_tests
