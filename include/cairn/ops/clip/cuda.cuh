// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/clip/clip.hpp>

namespace cairn::detail {

struct write_clip_factor {
  double* factor;
  const double *squares, *mean;
  double scale, max_norm;
  CAIRN_DEVICE void operator()(std::size_t) const {
    const double own = mean == nullptr ? 1 : *mean;
    *factor = own * clip_factor(sqrt(*squares) * (scale * own), max_norm);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

inline void clip(cuda::queue& queue, double* factor, const double* squares, double scale, double max_norm, const double* mean) {
  detail::launch_each(queue, "clip", 1, detail::write_clip_factor{factor, squares, mean, scale, max_norm});
}

} // namespace cairn::ops
