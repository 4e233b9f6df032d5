// SPDX-License-Identifier: MIT
// long to compile
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/ops/dropout/cpu.hpp>

#include "../narrow.hpp"

namespace dropout_narrow_tests {

using namespace cairn;

namespace {

template <class T>
void check() {
  constexpr std::size_t count = 5000;
  cpu device({.threads = 2});
  const auto x = narrow::normal<T>(count, 1);
  const types::random_key key{.seed = 3, .step = 4, .position = 5};
  const ops::dropout_rate rate{0x55555555, 1.5};
  std::vector<T> own(count);
  std::vector<float> wide(count);
  dropout(device.compute(), count, own.data(), x.own.data(), key, rate);
  dropout(device.compute(), count, wide.data(), x.wide.data(), key, rate);
  CHECK(narrow::wrong(own, wide) == 0);
}

} // namespace

TEST_CASE("dropout: elements of 16 bits have the mask of floats, and are rounded once") {
  check<bfloat16>();
  check<float16>();
}

} // namespace dropout_narrow_tests
