// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include <cairn/data/minibatch.hpp>

namespace minibatch_tests {

using namespace cairn;

TEST_CASE("a batch buffer begins at an aligned address and is zero") {
  const detail::batch_buffer<float, std::int32_t> buffer(5, {shape{3, 7}}, 1);
  const auto view = buffer.view(5);
  CHECK(reinterpret_cast<std::uintptr_t>(view.inputs.data()) % detail::alignment == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(view.targets.data()) % detail::alignment == 0);
  for (const float x : view.inputs) CHECK(x == 0.0F);
  CHECK(view.inputs.size() == 105);
  CHECK(view.targets.size() == 5);
  CHECK(view.rows() == 5);
}

TEST_CASE("a batch view has the rows that are filled and the shapes of a sample") {
  const detail::batch_buffer<double, std::int32_t> labelled(4, {shape{2}}, 1);
  CHECK(labelled.view(3).rows() == 3);
  CHECK(labelled.view(3).targets.sample_shape() == shape{});
  const detail::batch_buffer<double, double> pairs(4, {shape{2}}, 1);
  CHECK(pairs.view(3).targets.sample_shape() == shape{1});
  CHECK(pairs.input(1).data() == pairs.view(4).inputs.data() + 2);
  CHECK(pairs.input(1).size() == 2);
  CHECK(pairs.targets(3).data() == pairs.view(4).targets.data() + 3);
}

TEST_CASE("a batch of several inputs has a view of each") {
  const detail::batch_buffer<types::input_types<float, std::int32_t>, std::int64_t> buffer(4, {shape{2}, shape{3, 1}}, 1);
  buffer.input<1>(1)[2] = 7;
  buffer.targets(2)[0] = 9;
  const auto batch = buffer.view(3);
  CHECK(batch.rows() == 3);
  const auto& [numbers, tokens, labels] = batch;
  static_assert(std::is_same_v<decltype(tokens), const tensor_view<const std::int32_t>>);
  CHECK(numbers.sample_shape() == shape{2});
  CHECK(tokens.sample_shape() == shape{3, 1});
  CHECK(tokens.row(1)[2] == 7);
  CHECK(labels[2] == 9);
  CHECK(std::get<1>(batch.inputs).data() == tokens.data());
}

TEST_CASE("a batch larger than the memory is an error that says how large, and not an overflow") {
  using buffer = detail::batch_buffer<float, float>;
  const auto refused = [](std::size_t rows, const shape& sample, const char* text) {
    CHECK_THROWS_WITH_AS(buffer(rows, {sample}, 1), doctest::Contains(text), input_error);
  };
  constexpr std::size_t half = std::size_t{1} << 32;
  refused(1, {std::numeric_limits<std::size_t>::max() / 4}, "one of 1 samples of shape (4611686018427387903), more bytes");
  refused(64, {half, half}, "one of 64 samples of shape (4294967296, 4294967296), more bytes than can be counted");
  // The product would wrap to 0.
  refused(half, {half}, "found one of 4294967296 samples of shape (4294967296), more bytes");
  refused(half, {256, 1}, "samples of shape (256, 1), 4398046511104 bytes; check the dataset's shapes");
  CHECK(buffer(half, {shape{half, 0}}, 0).view(2).inputs.empty());
}

} // namespace minibatch_tests
