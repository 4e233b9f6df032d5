// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>

#include <cairn/plan/kept.hpp>
#include <cairn/plan/plan_of.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/schedule.hpp>
#include <doctest/doctest.h>

#include "chains.hpp"

namespace kept_tests {

using namespace cairn;
using namespace cairn::plan;
using namespace cairn::testing;

namespace {

// A product, an activation whose backward reads its output, a mask, a product.
constexpr std::array<stage, 4> four{dense(16, 16), relu(16), dropout(16), dense(16, 4)};
constexpr chain of_four{.stages = four, .batch = 2, .input = {64, 0}};

template <const chain& Of>
struct source {
  static constexpr const chain& value = Of;
};
template <class Policy, const chain& Of>
constexpr auto kept = detail::kept_over_loss<4>(Of, detail::plan_of<source<Of>, Policy>::schedule.ops());

constexpr chain lent_four = [] {
  chain c = of_four;
  c.lent = c.lent_output = true;
  return c;
}();

using flags = std::array<bool, 5>;

} // namespace

TEST_CASE("kept_over_loss: what backward reads, and nothing that the loss was the last to read") {
  // Kept are the ReLU's output, the mask and the input of the last product, whose output only the loss reads.
  static_assert(kept<store_all, of_four>.value == flags{false, false, true, true, false});
  static_assert(kept<store_all, of_four>.tape == flags{false, false, true, false, false});
}

TEST_CASE("kept_over_loss: what is made again is not kept") {
  // With the segments {0, 1} and {2, 3}, the input of the second and what its backwards read are kept.
  static_assert(kept<every<2>, of_four>.value == flags{false, false, true, true, false});
  static_assert(kept<every<2>, of_four>.tape == flags{false, false, true, false, false});
  // With the segments {0, 1, 2} and {3}, only the input of the last is kept.
  static_assert(kept<every<3>, of_four>.value == flags{false, false, false, true, false});
  static_assert(kept<every<3>, of_four>.tape == flags{});
  static_assert(kept<recompute_all, of_four>.value == flags{false, false, false, true, false});
}

TEST_CASE("kept_over_loss: a lent output is somebody else's") {
  static_assert(!kept<store_all, lent_four>.value[4]);
  static_assert(kept<store_all, lent_four>.value[3]);
}

} // namespace kept_tests
