// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/check_gradients/check_gradients.hpp>

namespace cairn::ops {

inline void check_gradients(cpu::queue&, checked_gradients* checked, const gradients_to_check& g, double number,
                            const detail::loss_scale_rule& rule) {
  detail::check_gradients_now(*checked, g, number, rule);
}
inline void clip_checked(cpu::queue&, double* factor, const double* squares, double max_norm, const checked_gradients* checked) {
  *factor = detail::checked_factor(*checked, std::sqrt(*squares), max_norm);
}

} // namespace cairn::ops
