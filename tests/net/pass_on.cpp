// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>

#include <cairn/core/tensor.hpp>
#include <cairn/core/tensors.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/pass_on.hpp>
#include <cairn/ops/copy/cpu.hpp>
#include <doctest/doctest.h>

namespace pass_on_tests {

using namespace cairn;

TEST_CASE("pass_on: a tensor goes to its place, if both are there and it is not there yet") {
  cpu::queue queue{1};
  std::array<float, 8> from{1, 2, 3, 4, 5, 6, 7, 8}, to{};
  constexpr std::array<std::size_t, 2> offsets{0, 4 * sizeof(float)};
  const types::tensors<const float> source{reinterpret_cast<const std::byte*>(from.data()), offsets.data()};
  const types::tensors<float> target{reinterpret_cast<std::byte*>(to.data()), offsets.data()};
  const auto pass = [&](const tensor& what, const types::tensors<float>& there, std::size_t to_index, std::size_t index) {
    detail::pass_on(queue, 2, what, there, to_index, source, index);
  };
  pass(tensor({2}), target, 0, 1); // 2 rows of 2
  CHECK(to == std::array<float, 8>{5, 6, 7, 8, 0, 0, 0, 0});
  pass(tensor({3}).once(), target, 1, 0); // one for the batch
  CHECK(to == std::array<float, 8>{5, 6, 7, 8, 1, 2, 3, 0});
  types::tensors<float> second = target;
  second.there = 0b10;
  pass(tensor({2}), second, 0, 0);
  pass(tensor({2}), {}, 0, 0);
  CHECK(to == std::array<float, 8>{5, 6, 7, 8, 1, 2, 3, 0});
  // The tensor is in its place already.
  detail::pass_on(queue, 2, tensor({2}), target, 1, target, 1);
  CHECK(to == std::array<float, 8>{5, 6, 7, 8, 1, 2, 3, 0});
}

TEST_CASE("pass_on: integers keep their bits") {
  cpu::queue queue{1};
  const std::array<std::int32_t, 3> from{-1, 0x7F800001, 7}; // as floats the second is a signalling NaN
  std::array<std::int32_t, 3> to{};
  constexpr std::array<std::size_t, 1> offsets{0};
  const types::tensors<const double> source{reinterpret_cast<const std::byte*>(from.data()), offsets.data()};
  const types::tensors<double> target{reinterpret_cast<std::byte*>(to.data()), offsets.data()};
  detail::pass_on(queue, 3, tensor({1}).of(element::int32), target, 0, source, 0);
  CHECK(to == from);
}

} // namespace pass_on_tests
