// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <doctest/doctest.h>

namespace tensors_tests {

using namespace cairn;

TEST_CASE("tensors: where each begins in its block, or null if it is not there") {
  alignas(64) std::array<std::byte, 512> memory{};
  const detail::tensor_layout layout(detail::value_list{{4}, {1}, {2}}, detail::sizes_of<float>, 5, 0b110);
  const auto at = [&](const auto* p) { return reinterpret_cast<const std::byte*>(p) - memory.data(); };
  const types::tensors<float> some{memory.data(), layout.offsets.data(), 0b110};
  CHECK(some[0] == nullptr);
  CHECK(at(some[1]) == 0);
  CHECK(at(some[2]) == 64);
  CHECK(bool(some));
  const types::tensors<float> one{memory.data(), layout.offsets.data(), 0b100};
  CHECK(one[1] == nullptr); // it has a place in the layout, but is absent
  CHECK(at(one[2]) == 64);
  CHECK(!bool(types::tensors<float>{memory.data(), layout.offsets.data(), 0}));
  CHECK(!bool(types::tensors<float>{}));
  CHECK(types::tensors<float>{}[0] == nullptr);
}

TEST_CASE("tensors: each has its own type of elements, const if they are only read") {
  std::array<std::int32_t, 4> tokens{1, 2, 3, 4};
  const std::array<std::size_t, 1> offsets{};
  const types::tensors<double> writable{reinterpret_cast<std::byte*>(tokens.data()), offsets.data()};
  CHECK(writable.integers(0)[2] == 3);
  const types::tensors<const double> read = writable.to_read();
  CHECK(read.integers(0) == tokens.data());
  static_assert(std::is_same_v<decltype(read.integers(0)), const std::int32_t*>);
  static_assert(std::is_same_v<decltype(writable.integers(0)), std::int32_t*>);
  static_assert(std::is_same_v<decltype(read.sums(0)), const double*>);
  static_assert(std::is_same_v<decltype(read[0]), const double*>);
}

TEST_CASE("tensors: those of a caller may lie anywhere") {
  const float first = 1, second = 2;
  const std::array<std::size_t, 2> offsets{0,
                                           reinterpret_cast<std::uintptr_t>(&first) - reinterpret_cast<std::uintptr_t>(&second)};
  const types::tensors<const float> apart{reinterpret_cast<const std::byte*>(&second), offsets.data()};
  CHECK(apart[0] == &second);
  CHECK(apart[1] == &first);
}

TEST_CASE("tensors: one tensor is a list by itself") {
  float numbers[4]{};
  const types::tensors<float> one = detail::one_tensor(numbers + 1);
  CHECK(one[0] == numbers + 1);
  CHECK(one[1] == nullptr);
  CHECK(!bool(detail::one_tensor<const float>(nullptr)));
}

} // namespace tensors_tests
