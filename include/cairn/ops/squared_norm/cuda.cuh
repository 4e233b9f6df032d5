// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/quad.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/squared_norm/squared_norm.hpp>

namespace cairn::detail {

// Computed in double: squares of gradients leave the range of floats long before the gradients do.
template <class T>
struct square_of {
  std::size_t count;
  bool aligned;
  const T* x;
  CAIRN_DEVICE void add(std::size_t q, double& sum) const {
    const quad<T> v = load_quad(x, q * quad_width<T>, count, aligned);
    for (std::size_t j = 0; j < quad_width<T>; ++j) {
      const auto value = static_cast<double>(v.at[j]);
      sum += value * value;
    }
  }
};
struct store_sum {
  double* to;
  CAIRN_DEVICE void operator()(double sum) const { *to = sum; }
};

} // namespace cairn::detail

namespace cairn::ops {

template <std::floating_point T>
void squared_norm(cuda::queue& queue, double* sum, const T* x, std::size_t count) {
  detail::sum_then<T, double>(queue, "squared_norm", count, detail::square_of<T>{count, detail::are_quads(x), x},
                              detail::store_sum{sum});
}

} // namespace cairn::ops
