// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/device.hpp>

namespace cairn::types {

// The mean loss of a step on an asynchronous device, which may still be running. It converts to double, and only then the
// program waits for the step. It must not outlive its trainer. The trainer keeps the losses of its last 1024 micro-batches; to
// read an older one throws input_error.
class step_loss {
public:
  using reader = double (*)(void* owner, std::uint64_t call, bool wait, bool& is_there);

  step_loss(void* owner, std::uint64_t call, reader read) : owner_(owner), call_(call), read_(read) {}

  // Waits for the step. Throws the error of a step that failed, and deadline_error if it does not end.
  operator double() const {
    bool there = false;
    return read_(owner_, call_, true, there);
  }
  // Whether the number is known without waiting.
  bool is_there() const {
    bool there = false;
    read_(owner_, call_, false, there);
    return there;
  }

private:
  void* owner_;
  std::uint64_t call_;
  reader read_;
};

} // namespace cairn::types

namespace cairn::detail {

// The result of step(): a double on a device whose memory the host shares, as the loss is known there.
template <class Device>
using loss_of_step = std::conditional_t<shares_memory<Device>, double, step_loss>;

} // namespace cairn::detail
