// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/clip/clip.hpp>

namespace cairn::ops {

inline void clip(cpu::queue&, double* factor, const double* squares, double scale, double max_norm, const double* mean) {
  const double own = mean == nullptr ? 1 : *mean;
  *factor = own * detail::clip_factor(std::sqrt(*squares) * (scale * own), max_norm);
}

} // namespace cairn::ops
