// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/embedding/cpu.hpp>

#include "../narrow.hpp"

namespace embedding_narrow_tests {

using namespace cairn;

namespace {

template <class T>
void check() {
  constexpr std::size_t vocabulary = 5, width = 7, count = 40;
  cpu device({.threads = 2});
  const auto weight = narrow::normal<T>(vocabulary * width, 1), dy = narrow::normal<T>(count * width, 2);
  std::vector<std::int32_t> indices(count);
  for (std::size_t i = 0; i < count; ++i) indices[i] = static_cast<std::int32_t>(i * i % 4); // 4 never occurs
  std::vector<T> own(count * width);
  std::vector<float> wide(count * width);
  embedding_forward(device.compute(), count, vocabulary, width, own.data(), weight.own.data(), indices.data());
  embedding_forward(device.compute(), count, vocabulary, width, wide.data(), weight.wide.data(), indices.data());
  CHECK(narrow::wrong(own, wide) == 0);

  std::vector<float> own_sum(vocabulary * width, 9.0F), wide_sum(vocabulary * width, 9.0F);
  embedding_backward(device.compute(), count, vocabulary, width, own_sum.data(), dy.own.data(), indices.data());
  embedding_backward(device.compute(), count, vocabulary, width, wide_sum.data(), dy.wide.data(), indices.data());
  for (std::size_t i = 0; i < own_sum.size(); ++i) CHECK(own_sum[i] == doctest::Approx(wide_sum[i]).epsilon(1e-5));
}

} // namespace

TEST_CASE("embedding: rows of 16-bit elements are copied, and their gradients added in float") {
  check<bfloat16>();
  check<float16>();
}

} // namespace embedding_narrow_tests
