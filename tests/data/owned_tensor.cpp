// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include <cairn/data/owned_tensor.hpp>

namespace owned_tensor_tests {

using namespace cairn;

TEST_CASE("owned_tensor: it is read like a view of its own memory, and moves") {
  types::owned_tensor<float> values(2, shape{3});
  for (std::size_t i = 0; i < 6; ++i) values.data()[i] = static_cast<float>(i);
  CHECK(values.rows() == 2);
  CHECK(values.size() == 6);
  CHECK(values.sample_shape() == shape{3});
  CHECK(values.row(1)[0] == 3);
  CHECK(values[5] == 5);
  CHECK(std::count(values.begin(), values.end(), 4.0F) == 1);
  const tensor_view<const float> view = values;
  CHECK(view.data() == values.data());
  CHECK(view.rows() == 2);
  const float* const at = values.data();
  const types::owned_tensor<float> moved = std::move(values);
  CHECK(moved.data() == at);
  CHECK(types::owned_tensor<float>{}.empty());
}

TEST_CASE("owned_tensor: a temporary one gives no view") {
  static_assert(std::is_convertible_v<const types::owned_tensor<float>&, tensor_view<const float>>);
  static_assert(!std::is_convertible_v<types::owned_tensor<float>, tensor_view<const float>>);
  static_assert(!std::is_copy_constructible_v<types::owned_tensor<float>>);
}

} // namespace owned_tensor_tests
