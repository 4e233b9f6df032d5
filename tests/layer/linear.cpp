// SPDX-License-Identifier: MIT
#include <cairn/layer/linear.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace linear_tests {

using namespace cairn;

static_assert(layer<Linear<4, 3>> && layer<Linear<4, 3, false>>);
static_assert(Linear<4, 3>::accepts(given{{4}}) && Linear<4, 3>::accepts(given{{2, 5, 4}}));
static_assert(!Linear<4, 3>::accepts(given{{3}}) && !Linear<4, 3>::accepts(given{{}}) && !Linear<1, 1>::accepts(given{{}}));
static_assert(Linear<4, 3>::outputs(given{{2, 5, 4}}) == tensor{2, 5, 3});
static_assert(Linear<784, 512>::inputs == tensor_list{{784}});
static_assert(Linear<4, 3>::parameters(given{{4}}).count == 2 && Linear<4, 3, false>::parameters(given{{4}}).count == 1);
static_assert(Linear<4, 3>::parameters(given{{4}}).items[0].extents == shape{3, 4});
static_assert(Linear<4, 3>::parameters(given{{4}}).items[0].start.how == initial::law::uniform);
static_assert(Linear<4, 3>::parameters(given{{4}}).items[0].start.scale == 0.5 &&
              Linear<4, 3>::parameters(given{{4}}).items[1].start.scale == 0.5);

// One sample of (2, 4) has 2 rows of 4 x 3 products and as many additions, and 3 additions of the bias.
static_assert(Linear<4, 3>::flops(given{{2, 4}}).forward == 2 * (2 * 4 * 3 + 3));
static_assert(Linear<4, 3>::flops(given{{2, 4}}).backward == 2 * (2 * 2 * 4 * 3 + 3));
static_assert(Linear<4, 3>::flops(given{{2, 4}}).input_gradient == 2 * 2 * 4 * 3);
static_assert(Linear<4, 3, false>::flops(given{{4}}).forward == 2 * 4 * 3);

TEST_CASE("Linear: gradients") {
  CHECK(gradient_fault<Linear<4, 3>>({{4}}) == "");
  CHECK(gradient_fault<Linear<1, 1>>({{1}}) == "");
  CHECK(gradient_fault<Linear<7, 20>>({{7}}) == "");
  CHECK(gradient_fault<Linear<3, 4>>({{2, 2, 3}}) == "");
  CHECK(gradient_fault<Linear<4, 3, false>>({{4}}) == "");
}

TEST_CASE("Linear: PyTorch's numbers") {
  CHECK(distance_from_torch<Linear<5, 3>, double>("linear", {5}) < 1e-12);
  CHECK(distance_from_torch<Linear<5, 3>, float>("linear", {5}) < 1e-6);
  CHECK(distance_from_torch<Linear<6, 2, false>, double>("linear_no_bias", {6}) < 1e-12);
  CHECK(distance_from_torch<Linear<6, 2, false>, float>("linear_no_bias", {6}) < 1e-6);
  CHECK(distance_from_torch<Linear<3, 4>, double>("linear_rank_3", {3, 3}) < 1e-12);
  CHECK(distance_from_torch<Linear<3, 4>, float>("linear_rank_3", {3, 3}) < 1e-6);
}

TEST_CASE("Linear: a row's bits do not depend on the other rows") {
  alone<Linear<37, 21>, float> many({{37}}, 13), one({{37}}, 1);
  const auto x = many.some_inputs();
  const auto y = many.forward(x);
  auto last = one.some_inputs(), expected = one.some_outputs();
  last.assign(0, {x[0] + 12 * 37, x[0] + 13 * 37});
  expected.assign(0, {y[0] + 12 * 21, y[0] + 13 * 21});
  CHECK(one.forward(last).same_bits(expected));
}

} // namespace linear_tests
