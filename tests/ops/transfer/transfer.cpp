// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include <cairn/ops/transfer/cpu.hpp>

namespace transfer_transfer_tests {

TEST_CASE("transfer: elements go to the device and back as they are") {
  cairn::cpu device;
  auto there = device.allocate(5 * sizeof(std::int32_t));
  auto* const on_device = reinterpret_cast<std::int32_t*>(there.data());
  const std::array<std::int32_t, 5> sent{3, -1, 4, -1, 5};
  std::array<std::int32_t, 5> back{};
  cairn::ops::upload(device.transfers(), sent.size(), on_device, sent.data());
  cairn::ops::download(device.transfers(), 4, back.data(), on_device);
  CHECK(device.transfers().reached(device.transfers().record()));
  CHECK(back == std::array<std::int32_t, 5>{3, -1, 4, -1, 0});
}

} // namespace transfer_transfer_tests
