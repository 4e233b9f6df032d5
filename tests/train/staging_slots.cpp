// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstring>
#include <vector>

#include <cairn/train/staging_slots.hpp>
#include <doctest/doctest.h>

#include "apart_ops.hpp"

namespace staging_slots_tests {

using namespace cairn;

TEST_CASE("staging_slots: each batch arrives whole, however late the device is") {
  apart::device device(types::device_options{});
  detail::staging_slots<apart::device> slots(device, 64);
  CHECK(device.counted.bytes == 128);
  std::vector<std::byte> back(5 * 64);
  int waits = 0;
  for (std::size_t batch = 0; batch < 5; ++batch) {
    slots.turn([&](const apart::event& used) {
      ++waits;
      while (!device.compute().reached(used)) {
      }
    });
    const detail::staging_slots<apart::device>::use in_use(slots);
    std::memset(slots.here(), static_cast<int>(batch + 1), 64);
    slots.send();
    download(device.compute(), 64, back.data() + batch * 64, static_cast<const std::byte*>(slots.there()));
  }
  device.compute().finish();
  CHECK(waits == 3); // the first two batches find their slots unused
  for (std::size_t i = 0; i < back.size(); ++i) CHECK(std::to_integer<std::size_t>(back[i]) == i / 64 + 1);
}

} // namespace staging_slots_tests
