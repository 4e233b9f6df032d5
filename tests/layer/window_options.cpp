// SPDX-License-Identifier: MIT
#include <cairn/layer/window_options.hpp>

#include <doctest/doctest.h>

namespace window_options_tests {

using namespace cairn;
using detail::options_of;

namespace {

constexpr unsigned all = 255;
constexpr auto plain = options_of<>(3, all, false);
constexpr auto given_all =
    options_of<groups<2>, stride<2, 3>, no_bias, padding<1>, kernel_width<5>, dilation<4, 1>, ceil_mode, no_count_include_pad>(
        3, all, false);

} // namespace

static_assert(plain.over.y.kernel == 3 && plain.over.x.kernel == 3 && plain.over.x.stride == 1 && plain.over.y.padding == 0 &&
              plain.over.x.dilation == 1 && plain.groups == 1 && plain.given == 0);
static_assert(options_of<>(3, all, true).over.y.stride == 3 && options_of<stride<1>>(3, all, true).over.y.stride == 1);
static_assert(options_of<kernel_width<2>>(3, all, true).over.x.stride == 2);
static_assert(given_all.over.y.kernel == 3 && given_all.over.x.kernel == 5 && given_all.over.y.stride == 2 &&
              given_all.over.x.stride == 3 && given_all.over.x.padding == 1 && given_all.over.y.dilation == 4 &&
              given_all.over.x.dilation == 1 && given_all.groups == 2 && given_all.given == all && given_all.twice == 0);
static_assert(given_all.has(detail::no_bias_option) && !plain.has(detail::no_bias_option));

TEST_CASE("window_options: what is no option, an option given twice and a zero are seen") {
  CHECK(!plain.has_other);
  CHECK(options_of<int>(3, all, false).has_other);
  CHECK(options_of<groups<2>>(3, detail::stride_option, false).has_other);
  CHECK(options_of<stride<1>, padding<1>, stride<2>>(3, all, false).twice == detail::stride_option);
  CHECK(!given_all.has_zero);
  CHECK(options_of<>(0, all, false).has_zero);
  CHECK(options_of<stride<1, 0>>(3, all, false).has_zero);
  CHECK(options_of<stride<1, 0>>(3, all, false).over.x.stride == 1); // so that the checks can go on
}

TEST_CASE("window_options: a window over images of a shape") {
  const ops::window over = options_of<stride<2>, padding<1, 0>>(3, all, false).on({8, 7, 4});
  CHECK(over.y.out == 4);
  CHECK(over.x.out == 3);
  CHECK(plain.accepts({3, 3, 1}));
  CHECK(!plain.accepts({3, 2, 1}));
  CHECK(!plain.accepts({3, 3}));
  CHECK(!plain.accepts(tensor{3, 3, 1}.of(element::int32)));
}

} // namespace window_options_tests
