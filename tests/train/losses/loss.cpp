// SPDX-License-Identifier: MIT
#include <cairn/train/losses/loss.hpp>

#include <doctest/doctest.h>

namespace loss_tests {

using namespace cairn;

namespace {

// The mean of the outputs: has only the members that the concept requires.
struct mean_output {
  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape&) { return 0; }
};

struct accepts_only {
  static constexpr bool accepts(const shape&) { return true; }
};

} // namespace

static_assert(loss<mean_output>);
static_assert(!loss<accepts_only> && !loss<int>);

TEST_CASE("loss_call: nothing is wanted until it is asked for") {
  const loss_call<float, int> call;
  CHECK((call.rows == 0 && call.output_gradient == nullptr && call.loss == nullptr));
}

} // namespace loss_tests
