// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>

#include <cairn/ops/checksum/cpu.hpp>

namespace checksum_checksum_tests {

TEST_CASE_TEMPLATE("checksum: four whole numbers below 65,536, others for other bits", T, float, double) {
  cairn::cpu device;
  std::array<T, 100> x{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i) / 7;
  std::array<T, 4> before{}, after{};
  cairn::ops::checksum(device.compute(), before.data(), x.data(), x.size());
  for (const T part : before) {
    CHECK(part == std::floor(part));
    CHECK(part >= 0);
    CHECK(part < 65536);
  }
  cairn::ops::checksum(device.compute(), after.data(), x.data(), x.size());
  CHECK(before == after);
  x[99] = std::nextafter(x[99], T{0});
  cairn::ops::checksum(device.compute(), after.data(), x.data(), x.size());
  CHECK(before != after);
}
TEST_CASE("checksum: a word comes back from its four numbers") {
  std::array<float, 4> four{};
  cairn::detail::write_as_numbers(four.data(), 0x0123456789ABCDEFU);
  CHECK(four == std::array{52719.F, 35243.F, 17767.F, 291.F});
}

} // namespace checksum_checksum_tests
