// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/train/losses/element_loss.hpp>
#include <cairn/train/losses/loss.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

struct squared_error {
  static constexpr const char* name = "MSELoss";
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline double operator()(T y, T target) const {
    const auto difference = static_cast<double>(y - target);
    return difference * difference;
  }
};

struct squared_error_slope {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T y, T target) const {
    return T{2} * (y - target);
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// The mean of (output - target)^2 over all elements of all rows, as torch.nn.MSELoss.
struct MSELoss : detail::element_loss {
  template <class Queue, detail::floating_element T>
  static void run(Queue& queue, const loss_call<T, accumulated<T>>& call) {
    mean(queue, call, detail::squared_error{}, detail::squared_error_slope{});
  }
};

static_assert(loss<MSELoss>);

} // namespace cairn

#if CAIRN_WITH_COMPILED
#include <cairn/ops/mean_of_terms/cpu.hpp>

namespace cairn {

CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, float*, std::size_t, const float*, const float*,
                                                const detail::squared_error&, const detail::squared_error_slope&, const double*);
CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, double*, std::size_t, const double*, const double*,
                                                const detail::squared_error&, const detail::squared_error_slope&, const double*);

} // namespace cairn
#endif
