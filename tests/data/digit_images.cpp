// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <type_traits>

#include <cairn/data/digit_images.hpp>

TEST_CASE("digit_images holds what is trained on and what is tested with") {
  using digits = cairn::digit_images<float>;
  static_assert(std::is_same_v<decltype(digits::train), decltype(digits::test)>);
  static_assert(std::is_nothrow_move_constructible_v<digits>); // a data set is handed on, not copied
  CHECK(cairn::mnist_scale.mean == doctest::Approx(0.1307));
  CHECK(cairn::mnist_scale.deviation == doctest::Approx(0.3081));
}
