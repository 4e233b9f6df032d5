// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/check_gradients/check_gradients.hpp>

namespace cairn::detail {

struct decide_update {
  ops::checked_gradients* checked;
  ops::gradients_to_check g;
  double number;
  loss_scale_rule rule;
  CAIRN_DEVICE void operator()(std::size_t) const { check_gradients_now(*checked, g, number, rule); }
};
struct write_checked_factor {
  double* factor;
  const double* squares;
  double max_norm;
  const ops::checked_gradients* checked;
  CAIRN_DEVICE void operator()(std::size_t) const { *factor = checked_factor(*checked, sqrt(*squares), max_norm); }
};

} // namespace cairn::detail

namespace cairn::ops {

inline void check_gradients(cuda::queue& queue, checked_gradients* checked, const gradients_to_check& g, double number,
                            const detail::loss_scale_rule& rule) {
  detail::launch_each(queue, "check_gradients", 1, detail::decide_update{checked, g, number, rule});
}
inline void clip_checked(cuda::queue& queue, double* factor, const double* squares, double max_norm,
                         const checked_gradients* checked) {
  detail::launch_each(queue, "clip_checked", 1, detail::write_checked_factor{factor, squares, max_norm, checked});
}

} // namespace cairn::ops
