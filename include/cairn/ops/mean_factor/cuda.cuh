// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/ops/mean_factor/mean_factor.hpp>

namespace cairn::detail {

// One team is enough: there are as many words as ranks.
template <class T>
struct write_mean_factor {
  double* factor;
  double times;
  std::size_t count;
  const T* words;
  std::size_t stride;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t) const {
    const double found = team.sum(count, [&](std::size_t i) {
      const T* const word = words + i * stride;
      return word[0] != T(0) || word[1] != T(0) || word[2] != T(0) || word[3] != T(0) ? 1.0 : 0.0;
    });
    team.once([&] { *factor = 1.0 / (times * found); });
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <std::floating_point T>
void mean_factor(cuda::queue& queue, double* factor, double times, std::size_t count, const T* words, std::size_t stride) {
  detail::launch_teams<32>(queue, "mean_factor", 1, detail::write_mean_factor<T>{factor, times, count, words, stride});
}

} // namespace cairn::ops
