// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/ops/elementwise/cuda_sums.cuh>
#include <cairn/ops/squared_norm/squared_norm.hpp>

namespace cairn {

namespace detail {

template <class T>
struct square_of {
  const T* x;
  CAIRN_DEVICE double operator()(std::size_t i) const {
    const auto value = static_cast<double>(x[i]);
    return value * value;
  }
};
struct store_sum {
  double* to;
  CAIRN_DEVICE void operator()(double sum) const { *to = sum; }
};

} // namespace detail

template <std::floating_point T>
void squared_norm(cuda::queue& queue, double* sum, const T* x, std::size_t count) {
  detail::sum_then(queue, "squared_norm", count, detail::square_of<T>{x}, detail::store_sum{sum});
}

} // namespace cairn
