// SPDX-License-Identifier: MIT
#include <cairn/ops/scale/cpu.hpp>
#include <cairn/ops/scale/scale.hpp>

#include <vector>

#include <doctest/doctest.h>

using namespace cairn;

TEST_CASE("scale: every number times the factor, also in place") {
  cpu device;
  std::vector<double> x(21, 3.0), result(21);
  scale(device.compute(), 21, result.data(), x.data(), 0.5);
  scale(device.compute(), 20, x.data(), x.data(), 0.5);
  for (std::size_t i = 0; i < 20; ++i) CHECK((result[i] == 1.5 && x[i] == 1.5));
  CHECK(x[20] == 3.0);
}
