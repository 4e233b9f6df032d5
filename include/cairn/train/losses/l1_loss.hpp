// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/train/losses/element_loss.hpp>
#include <cairn/train/losses/loss.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct absolute_error {
  static constexpr const char* name = "L1Loss";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T y, T target) const {
    return absolute(y - target);
  }
};

// The sign of the difference: 0 for 0, as in torch, and NaN for NaN.
struct absolute_error_slope {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T y, T target) const {
    const T distance = y - target;
    return blend(distance > T{0}, T{1}, blend(distance < T{0}, T{-1}, T{0} * distance));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// The mean of |output - target| over all elements of all rows, as torch.nn.L1Loss.
struct L1Loss : detail::element_loss {
  template <class Queue, detail::floating_element T>
  static void run(Queue& queue, const loss_call<T, accumulated<T>>& call) {
    mean(queue, call, detail::absolute_error{}, detail::absolute_error_slope{});
  }
};

static_assert(loss<L1Loss>);

} // namespace cairn

#if CAIRN_WITH_COMPILED
#include <cairn/ops/mean_of_terms/cpu.hpp>

namespace cairn {

CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, float*, std::size_t, const float*, const float*,
                                                const detail::absolute_error&, const detail::absolute_error_slope&,
                                                const double*);
CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, double*, std::size_t, const double*, const double*,
                                                const detail::absolute_error&, const detail::absolute_error_slope&,
                                                const double*);

} // namespace cairn
#endif
