// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/memory.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>
#include <cairn/ops/transfer/transfer.hpp>

namespace cairn::detail {

// The state of loss scaling on a device whose work is done later. Its ops change it, and the host learns it when a step is over.
template <class Device>
class scale_on_device {
public:
  static constexpr std::size_t bytes = align_up(sizeof(ops::checked_gradients));

  explicit scale_on_device(Device& device) : memory_(device.allocate(bytes)) {}

  ops::checked_gradients* there() const { return reinterpret_cast<ops::checked_gradients*>(memory_.data()); }
  std::span<std::byte> memory() const { return {memory_.data(), bytes}; }

  // Both wait until it is done: wait(event) waits for an event of the queue.
  template <class Queue, class Wait>
  void send(Queue& queue, const loss_scale_state& state, const Wait& wait) const {
    const ops::checked_gradients all{.state = state};
    upload(queue, 1, there(), &all);
    wait(queue.record());
  }
  template <class Queue, class Wait>
  ops::checked_gradients fetched(Queue& queue, const Wait& wait) const {
    ops::checked_gradients all;
    download(queue, sizeof all, reinterpret_cast<std::byte*>(&all), static_cast<const std::byte*>(memory_.data()));
    wait(queue.record());
    return all;
  }

private:
  typename Device::memory memory_;
};

// Where the host shares the device's memory, or nothing is scaled.
template <class Device>
struct no_scale_on_device {
  static constexpr std::size_t bytes = 0;
  explicit no_scale_on_device(Device&) {}
  static std::span<std::byte> memory() { return {}; }
};

} // namespace cairn::detail
