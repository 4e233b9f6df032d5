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
    slots.send([](const auto& put) { put(0, 24), put(24, 40); });
    download(device.compute(), 64, back.data() + batch * 64, static_cast<const std::byte*>(slots.there()));
  }
  device.compute().finish();
  CHECK(waits == 3); // the first two batches find their slots unused
  for (std::size_t i = 0; i < back.size(); ++i) CHECK(std::to_integer<std::size_t>(back[i]) == i / 64 + 1);
}

TEST_CASE("staging_slots: only what was filled goes to the device, with small gaps and without large ones") {
  constexpr std::size_t far = 64 + 1 + detail::staging_slots<apart::device>::most_between;
  apart::device device(types::device_options{});
  detail::staging_slots<apart::device> slots(device, far + 100);
  slots.turn([](const apart::event&) {});
  std::memset(slots.here(), 1, far + 100);
  {
    const detail::staging_slots<apart::device>::use in_use(slots);
    slots.send([](const auto& put) { put(0, 16), put(32, 32), put(80, 0), put(far, 50); });
  }
  std::vector<std::byte> back(far + 100);
  download(device.compute(), back.size(), back.data(), static_cast<const std::byte*>(slots.there()));
  device.compute().finish();
  for (std::size_t i = 0; i < back.size(); ++i) CHECK((back[i] == std::byte{1}) == (i < 64 || (i >= far && i < far + 50)));
}

} // namespace staging_slots_tests
