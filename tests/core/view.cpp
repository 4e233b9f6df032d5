// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <ranges>
#include <span>
#include <type_traits>

#include <cairn/core/view.hpp>

namespace view_tests {

using namespace cairn;

TEST_CASE("matrix reads and writes somebody else's memory") {
  std::array<int, 6> memory{0, 1, 2, 10, 11, 12};
  const ops::matrix<int> all(memory.data(), 2, 3);
  CHECK(all.stride == 3);
  CHECK(all(1, 2) == 12);
  all(0, 1) = 7;
  CHECK(memory[1] == 7);
}

TEST_CASE("matrix with a stride skips what lies between two rows") {
  std::array<int, 6> memory{0, 1, 2, 10, 11, 12};
  const ops::matrix<int> left(memory.data(), 2, 2, 3);
  CHECK(left(1, 0) == 10);
  CHECK(left(1, 1) == 11);
}

TEST_CASE("a matrix to write is also one to read, not the other way round") {
  std::array<int, 2> memory{4, 5};
  const ops::matrix<const int> reader = ops::matrix<int>(memory.data(), 1, 2);
  CHECK(reader(0, 1) == 5);
  static_assert(std::is_convertible_v<ops::matrix<int>, ops::matrix<const int>>);
  static_assert(!std::is_convertible_v<ops::matrix<const int>, ops::matrix<int>>);
  static_assert(!std::is_convertible_v<ops::matrix<long>, ops::matrix<const int>>);
}

TEST_CASE("a tensor_view is a contiguous range of its elements, row after row") {
  std::array<float, 12> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const tensor_view<float> view(numbers.data(), 2, shape{2, 3});
  CHECK(view.rows() == 2);
  CHECK(view.size() == 12);
  CHECK(view.sample_shape() == shape{2, 3});
  CHECK(view.data() == numbers.data());
  CHECK(view.row(1) == numbers.data() + 6);
  CHECK(view[7] == 7.0F);
  static_assert(std::ranges::contiguous_range<tensor_view<float>>);
  static_assert(std::ranges::borrowed_range<tensor_view<const float>>);

  const std::span<float> span = view;
  CHECK(span.data() == numbers.data());
  CHECK(span.size() == 12);
  const std::span<const float> of_temporary = tensor_view<const float>(numbers.data(), 1, shape{3});
  CHECK(of_temporary.size() == 3);
}

TEST_CASE("a view to write through becomes one to read through, not the other way") {
  static_assert(std::is_convertible_v<tensor_view<float>, tensor_view<const float>>);
  static_assert(!std::is_convertible_v<tensor_view<const float>, tensor_view<float>>);
  static_assert(!std::is_convertible_v<tensor_view<double>, tensor_view<const float>>);
}

TEST_CASE("an empty tensor_view has no elements") {
  const tensor_view<int> none;
  CHECK(none.empty());
  CHECK(none.begin() == none.end());
  int number = 0;
  CHECK(tensor_view<int>(&number, 0, shape{4}).empty());
  CHECK_FALSE(tensor_view<int>(&number, 1, shape{}).empty()); // a sample of rank 0 is one element
}

} // namespace view_tests
