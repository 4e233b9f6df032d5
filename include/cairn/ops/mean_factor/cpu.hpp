// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/mean_factor/mean_factor.hpp>

namespace cairn::ops {

template <class T>
void mean_factor(cpu::queue&, double* factor, double times, std::size_t count, const T* words, std::size_t stride) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T* const word = words + i * stride;
    if (word[0] != T(0) || word[1] != T(0) || word[2] != T(0) || word[3] != T(0)) ++found;
  }
  *factor = 1.0 / (times * static_cast<double>(found));
}

} // namespace cairn::ops
