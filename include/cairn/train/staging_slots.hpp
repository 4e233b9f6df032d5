// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <exception>

#include <cairn/core/config.hpp>
#include <cairn/core/memory.hpp>
#include <cairn/device/device.hpp>
#include <cairn/ops/transfer/transfer.hpp>

namespace cairn::detail {

// Sends batches to a device whose memory the host cannot write. Two slots are used alternately, each a block of host memory
// and one of device memory. The host fills one while the device still computes with the other, and waits when it is two
// batches ahead.
template <class Device>
class staging_slots {
public:
  static constexpr std::size_t count = 2;

  staging_slots(Device& device, std::size_t bytes) : device_(device) {
    for (slot& s : slots_) {
      s.here = device.staging(bytes);
      s.there = device.allocate(bytes);
    }
  }

  // While one lives, the device may read the slot: from turn() until everything that reads it is on the compute queue.
  class [[nodiscard]] use {
  public:
    explicit use(staging_slots& slots) : slots_(slots) {}
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() noexcept(false) { // throws only if no other exception is passing
      try {
        slot& s = slots_.slots_[slots_.now_];
        s.used = slots_.device_.compute().record();
        s.was_used = true;
      } catch (...) {
        if (std::uncaught_exceptions() == passing_) throw;
      }
    }

  private:
    staging_slots& slots_;
    int passing_ = std::uncaught_exceptions();
  };

  // Changes to the other slot. Calls `wait` with the event after which nothing reads that slot.
  template <class Wait>
  void turn(const Wait& wait) {
    const std::size_t next = (now_ + 1) % count;
    if (slots_[next].was_used) wait(slots_[next].used);
    now_ = next;
  }
  std::byte* here() const { return slots_[now_].here.data(); }
  std::byte* there() const { return slots_[now_].there.data(); }

  // Copies bytes of the slot to the device. The compute queue waits for them. `filled(put)` calls put(first, bytes) for each
  // range of bytes that was filled, in ascending order; what lies between two of them goes along if that is quicker than
  // another copy.
  template <class Filled>
  void send(const Filled& filled) {
    std::size_t from = 0, to = 0;
    filled([&](std::size_t first, std::size_t bytes) {
      if (bytes == 0) return;
      if (from == to) from = first;
      else if (first - to > most_between) copy(from, to), from = first;
      to = first + bytes;
    });
    if (from != to) copy(from, to);
    device_.compute().wait(device_.transfers().record());
  }
  static constexpr std::size_t most_between = 64_KiB; // which PCIe carries in the 3 microseconds that a copy takes to begin

private:
  void copy(std::size_t from, std::size_t to) {
    const slot& s = slots_[now_];
    upload(device_.transfers(), to - from, s.there.data() + from, static_cast<const std::byte*>(s.here.data()) + from);
  }

  struct slot {
    typename Device::host_memory here{};
    typename Device::memory there{};
    typename Device::event used{};
    bool was_used = false;
  };

  Device& device_;
  std::array<slot, count> slots_{};
  std::size_t now_ = 0;
};

} // namespace cairn::detail
