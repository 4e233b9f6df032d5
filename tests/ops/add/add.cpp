// SPDX-License-Identifier: MIT
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/add/cpu.hpp>

#include <vector>

#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("add: the sum, also on top of an operand") {
  cpu device;
  std::vector<float> a(37), b(37), sum(37);
  for (std::size_t i = 0; i < 37; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(3 * i);
  add(device.compute(), 37, sum.data(), a.data(), b.data());
  add(device.compute(), 36, a.data(), a.data(), b.data());
  for (std::size_t i = 0; i < 36; ++i) CHECK((sum[i] == static_cast<float>(4 * i) && a[i] == sum[i]));
  CHECK((sum[36] == 144 && a[36] == 36)); // not one more than asked
}
