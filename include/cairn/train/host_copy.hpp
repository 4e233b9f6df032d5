// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include <cairn/core/config.hpp>
#include <cairn/device/device.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/ops/transfer/transfer.hpp>

namespace cairn::detail {

// Elements in device memory for the host to read and write: the elements themselves where the host can access them, otherwise
// a copy, which give_back() writes back to the device. It waits for the device, so it is not used in a step.
template <class T, class Device>
class host_copy {
public:
  host_copy(Device& device, std::span<T> there) : device_(device), there_(there) {
    if constexpr (!shares_memory<Device>) {
      copy_.resize(there.size());
      if (there.empty()) return;
      download(device.compute(), there.size(), copy_.data(), static_cast<const number*>(there.data()));
      finish_on_host(device.compute());
    }
  }

  std::span<T> numbers() {
    if constexpr (shares_memory<Device>) return there_;
    else return copy_;
  }

  void give_back()
    requires(!std::is_const_v<T>)
  {
    if constexpr (!shares_memory<Device>) {
      if (there_.empty()) return;
      upload(device_.compute(), there_.size(), there_.data(), static_cast<const T*>(copy_.data()));
      finish_on_host(device_.compute());
    }
  }

private:
  using number = std::remove_const_t<T>;

  Device& device_;
  std::span<T> there_;
  std::vector<number> copy_;
};

} // namespace cairn::detail
