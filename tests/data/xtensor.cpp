// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#if __has_include(<xtensor/containers/xarray.hpp>) || __has_include(<xtensor/xarray.hpp>)

#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include <cairn/data/xtensor.hpp>

#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

namespace xtensor_tests {

using namespace cairn;

namespace {

template <class Array>
concept viewable = requires(Array&& array) { as_view(std::forward<Array>(array)); };

} // namespace

TEST_CASE("as_xtensor is the same memory under another name") {
  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  auto array = as_xtensor(tensor_view<float>(numbers.data(), 2, shape{2, 3}));
  REQUIRE(array.dimension() == 3);
  CHECK(array.shape()[0] == 2);
  CHECK(array.shape()[2] == 3);
  CHECK(&array(0, 0, 0) == numbers.data());
  CHECK(array(1, 0, 2) == 8.0F);
  array(1, 1, 1) = -1;
  CHECK(numbers[10] == -1);
  array *= 2;
  CHECK(numbers[11] == 22);
}

TEST_CASE("as_xtensor of a view to read can be read and not written") {
  const std::vector<double> numbers{1, 2, 3, 4};
  const auto array = as_xtensor(tensor_view<const double>(numbers.data(), 2, shape{2}));
  static_assert(!std::is_assignable_v<decltype(array(0, 0)), double>);
  CHECK(&array(1, 0) == numbers.data() + 2);
  CHECK(as_xtensor(tensor_view<const double>(numbers.data(), 4, shape{})).dimension() == 1);
}

TEST_CASE("as_view is the memory of the array, without a copy") {
  xt::xarray<float> array = xt::xarray<float>::from_shape({3, 2, 2});
  std::iota(array.begin(), array.end(), 0.0F);
  const auto view = as_view(array);
  static_assert(std::is_same_v<decltype(view), const tensor_view<float>>);
  CHECK(view.data() == array.data());
  CHECK(view.rows() == 3);
  CHECK(view.sample_shape() == shape{2, 2});
  view[5] = 50;
  CHECK(array(1, 0, 1) == 50);

  const xt::xtensor<double, 1> constant{1, 2, 3};
  const auto read_only = as_view(constant);
  static_assert(std::is_same_v<decltype(read_only), const tensor_view<const double>>);
  CHECK(read_only.rows() == 3);
  CHECK(read_only.sample_shape() == shape{});

  auto there_and_back = as_xtensor(view);
  CHECK(as_view(there_and_back).data() == array.data());
}

TEST_CASE("as_view takes rows of an array, and an extent of 1") {
  xt::xarray<float> array = xt::xarray<float>::from_shape({4, 3});
  std::iota(array.begin(), array.end(), 0.0F);
  auto rows = xt::view(array, xt::range(1, 3), xt::all());
  const auto view = as_view(rows);
  CHECK(view.data() == array.data() + 3);
  CHECK(view.rows() == 2);
  CHECK(view[0] == 3);
  xt::xarray<float> thin = xt::xarray<float>::from_shape({4, 1, 3, 1});
  CHECK(as_view(thin).sample_shape() == shape{1, 3, 1});
  xt::xarray<float> none = xt::xarray<float>::from_shape({0, 3});
  CHECK(as_view(none).empty());
}

TEST_CASE("as_view throws for other orders, gaps, and arrays without rows") {
  xt::xarray<float, xt::layout_type::column_major> columns = xt::xarray<float, xt::layout_type::column_major>::from_shape({2, 3});
  CHECK_THROWS_WITH_AS(as_view(columns), doctest::Contains("a stride of 1 for axis 1, found 2"), input_error);
  xt::xarray<float> array = xt::xarray<float>::from_shape({4, 3});
  auto cut = xt::view(array, xt::all(), xt::range(0, 2));
  CHECK_THROWS_WITH_AS(as_view(cut), doctest::Contains("a stride of 2 for axis 0, found 3"), input_error);
  auto every_other = xt::view(array, xt::range(0, 4, 2), xt::all());
  CHECK_THROWS_AS(as_view(every_other), input_error);
  xt::xarray<float> scalar = 3.0F;
  CHECK_THROWS_WITH_AS(as_view(scalar), doctest::Contains("found 0 axes"), input_error);
}

TEST_CASE("as_view of an expression or of a temporary does not compile") {
  using array = xt::xarray<float>;
  using sum = decltype(std::declval<array&>() + std::declval<array&>());
  static_assert(viewable<array&>);
  static_assert(viewable<const array&>);
  static_assert(!viewable<array>);
  static_assert(!viewable<const array>);
  static_assert(!viewable<sum&>);
}

#endif

} // namespace xtensor_tests
