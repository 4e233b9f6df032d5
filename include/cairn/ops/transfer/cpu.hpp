// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/copy/cpu.hpp>
#include <cairn/ops/transfer/transfer.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::ops {

// The cpu's memory is the host's.
template <class T>
void upload(cpu::queue& queue, std::size_t count, T* to, const T* from) {
  copy(queue, count, to, from);
}
template <class T>
void download(cpu::queue& queue, std::size_t count, T* to, const T* from) {
  copy(queue, count, to, from);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
