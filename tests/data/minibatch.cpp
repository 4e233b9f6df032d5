// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include <cairn/data/minibatch.hpp>

using namespace cairn;

TEST_CASE("a batch buffer begins at an aligned address and is zero") {
  const detail::batch_buffer<float, std::int32_t> buffer(5, shape{3, 7}, 1);
  const auto view = buffer.view(5);
  CHECK(reinterpret_cast<std::uintptr_t>(view.inputs.data()) % alignment == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(view.targets.data()) % alignment == 0);
  for (const float x : view.inputs) CHECK(x == 0.0F);
  CHECK(view.inputs.size() == 105);
  CHECK(view.targets.size() == 5);
  CHECK(view.rows() == 5);
}

TEST_CASE("a batch view has the rows that are filled and the shapes of a sample") {
  const detail::batch_buffer<double, std::int32_t> labelled(4, shape{2}, 1);
  CHECK(labelled.view(3).rows() == 3);
  CHECK(labelled.view(3).targets.sample_shape() == shape{});
  const detail::batch_buffer<double, double> pairs(4, shape{2}, 1);
  CHECK(pairs.view(3).targets.sample_shape() == shape{1});
  CHECK(pairs.input(1) == pairs.view(4).inputs.data() + 2);
  CHECK(pairs.targets(3) == pairs.view(4).targets.data() + 3);
}

TEST_CASE("a batch larger than any memory is an error and not an overflow") {
  using buffer = detail::batch_buffer<float, float>;
  CHECK_THROWS_AS(buffer(1, shape{std::numeric_limits<std::size_t>::max() / 4}, 1), input_error);
}
