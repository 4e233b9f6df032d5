// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/checksum/checksum.hpp>

namespace cairn::ops {

template <class T>
void checksum(cpu::queue&, T* four, const T* x, std::size_t count) {
  detail::write_as_numbers(four, detail::quick_checksum(std::as_bytes(std::span{x, count})));
}

} // namespace cairn::ops
