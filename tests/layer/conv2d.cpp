// SPDX-License-Identifier: MIT
#include <cairn/layer/conv2d.hpp>

#include <cairn/layer/gradient_check.hpp>
#include <doctest/doctest.h>

#include "alone.hpp"
#include "given.hpp"
#include "reference_check.hpp"

namespace conv2d_tests {

using namespace cairn;

namespace {

using Usual = Conv2d<3, 5, 3, padding<1>, no_bias>;
using Strided = Conv2d<4, 3, 3, stride<2>, padding<1>>;
using Dilated = Conv2d<2, 3, 3, kernel_width<2>, stride<2, 1>, padding<4, 2>, dilation<3, 1>>;
using Grouped = Conv2d<6, 4, 2, kernel_width<3>, padding<0, 1>, groups<2>>;
using Depthwise = Conv2d<4, 8, 3, padding<1>, groups<4>, no_bias>;

} // namespace

static_assert(layer<Usual> && layer<Dilated>);
static_assert(Usual::accepts(given{{4, 5, 3}}) && !Usual::accepts(given{{4, 5, 4}}) && !Usual::accepts(given{{5, 3}}));
static_assert(Usual::accepts(given{{1, 1, 3}}) && !Conv2d<3, 5, 3>::accepts(given{{2, 9, 3}})); // two rows, and three are read
static_assert(Usual::outputs(given{{4, 5, 3}}) == tensor{4, 5, 5});
static_assert(Strided::outputs(given{{7, 6, 4}}) == tensor{4, 3, 3});
static_assert(Dilated::outputs(given{{6, 5, 2}}) == tensor{4, 8, 3});
static_assert(Grouped::outputs(given{{4, 5, 6}}) == tensor{3, 5, 4});
static_assert(Strided::parameters(given{{7, 6, 4}}).count == 2 && Usual::parameters(given{{4, 5, 3}}).count == 1);
static_assert(Grouped::parameters(given{{4, 5, 6}})[0].extents == shape{4, 2, 3, 3});
static_assert(Conv2d<16, 8, 2, groups<4>>::parameters(given{{4, 4, 16}})[0].start.scale == 0.25); // 1 / sqrt(2 x 2 x 4)
static_assert(Conv2d<16, 8, 2, groups<4>>::parameters(given{{4, 4, 16}})[1].start.scale == 0.25);

// 4 x 3 pixels, 3 channels made of 3 x 3 x 4 products.
static_assert(Strided::flops(given{{7, 6, 4}}).forward == 12 * 3 * (2 * 36 + 1));
static_assert(Strided::flops(given{{7, 6, 4}}).backward == 12 * 3 * (4 * 36 + 1));
static_assert(Strided::flops(given{{7, 6, 4}}).input_gradient == 12 * 3 * 2 * 36);
static_assert(Usual::flops(given{{4, 5, 3}}).forward == 20 * 5 * 2 * 27);

TEST_CASE("Conv2d: gradients") {
  CHECK(gradient_fault<Conv2d<2, 3, 1>>({{2, 3, 2}}) == "");
  CHECK(gradient_fault<Conv2d<1, 1, 1, stride<2>>>({{3, 3, 1}}) == "");
  CHECK(gradient_fault<Conv2d<2, 3, 3, padding<1>>>({{3, 4, 2}}) == "");
  CHECK(gradient_fault<Strided>({{4, 3, 4}}) == "");
  CHECK(gradient_fault<Dilated>({{3, 2, 2}}) == "");
  CHECK(gradient_fault<Conv2d<4, 2, 2, kernel_width<3>, padding<0, 1>, groups<2>, no_bias>>({{3, 3, 4}}) == "");
}

TEST_CASE_TEMPLATE("Conv2d: PyTorch's numbers", T, float, double) {
  const double most = sizeof(T) == 4 ? 4e-6 : 1e-13;
  CHECK(distance_from_torch<Conv2d<3, 4, 3>, T>("conv2d", {5, 6, 3}) < most);
  CHECK(distance_from_torch<Usual, T>("conv2d_padding", {4, 5, 3}) < most);
  CHECK(distance_from_torch<Strided, T>("conv2d_stride", {7, 6, 4}) < most);
  CHECK(distance_from_torch<Dilated, T>("conv2d_dilation", {6, 5, 2}) < most);
  CHECK(distance_from_torch<Grouped, T>("conv2d_groups", {4, 5, 6}) < most);
  CHECK(distance_from_torch<Depthwise, T>("conv2d_depthwise", {4, 4, 4}) < most);
  CHECK(distance_from_torch<Conv2d<5, 7, 1>, T>("conv2d_1x1", {3, 4, 5}) < most);
  CHECK(distance_from_torch<Conv2d<5, 7, 1, stride<2>>, T>("conv2d_1x1_stride", {5, 4, 5}) < most);
}

TEST_CASE("Conv2d: an image's bits do not depend on the other images") {
  constexpr std::size_t in = 9 * 7 * 4, out = 5 * 4 * 3;
  alone<Strided, float> many({{9, 7, 4}}, 13), one({{9, 7, 4}}, 1);
  const auto x = many.some_inputs();
  const auto y = many.forward(x);
  auto last = one.some_inputs(), expected = one.some_outputs();
  last.assign(0, {x[0] + 12 * in, x[0] + 13 * in});
  expected.assign(0, {y[0] + 12 * out, y[0] + 13 * out});
  CHECK(one.forward(last).same_bits(expected));
}

} // namespace conv2d_tests
