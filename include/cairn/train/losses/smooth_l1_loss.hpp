// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/config.hpp>
#include <cairn/ops/elementwise/blend.hpp>
#include <cairn/ops/elementwise/elementary.hpp>
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>
#include <cairn/train/losses/element_loss.hpp>
#include <cairn/train/losses/l1_loss.hpp>
#include <cairn/train/losses/loss.hpp>
#include <cairn/train/settings.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

template <class T>
struct smooth_error {
  static constexpr const char* name = "SmoothL1Loss";
  T beta; // above 0
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T y, T target) const {
    const T distance = absolute(y - target);
    return blend(distance < beta, T{0.5} * distance * distance / beta, distance - T{0.5} * beta);
  }
};

// For NaN both comparisons are false, and d / beta is NaN.
template <class T>
struct smooth_error_slope {
  T beta;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T y, T target) const {
    const T distance = y - target;
    return blend(distance >= beta, T{1}, blend(distance <= -beta, T{-1}, distance / beta));
  }
};

} // namespace cairn::detail

CAIRN_KERNELS_END

namespace cairn {

// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, with d = output - target, averaged over all elements of all rows, as
// torch.nn.SmoothL1Loss (Girshick: Fast R-CNN, 2015); with a beta of 0 it is L1Loss.
struct SmoothL1Loss {
  double beta = 1;

  static constexpr bool accepts(const shape&) { return true; }
  static constexpr std::size_t targets_per_sample(const shape& output) { return output.size(); }

  template <class T, class Target>
  static constexpr bool takes = detail::floating_element<T> && std::is_same_v<accumulated<T>, Target>;

  static constexpr bool scales_gradient = true;

  std::array<double, 1> settings() const { return {beta}; }

  template <class Queue, detail::floating_element T>
  void run(Queue& queue, const loss_call<T, accumulated<T>>& call) const {
    detail::check_number("SmoothL1Loss: expected a beta of 0 or more", beta);
    if (beta <= 0) return L1Loss::run(queue, call);
    const auto at = static_cast<accumulated<T>>(beta);
    detail::mean_of_scaled_terms(queue, call, detail::smooth_error<accumulated<T>>{at},
                                 detail::smooth_error_slope<accumulated<T>>{at});
  }
};

static_assert(loss<SmoothL1Loss>);

} // namespace cairn

#if CAIRN_WITH_COMPILED
#include <cairn/ops/mean_of_terms/cpu.hpp>

namespace cairn {

CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, float*, std::size_t, const float*, const float*,
                                                const detail::smooth_error<float>&, const detail::smooth_error_slope<float>&,
                                                const double*);
CAIRN_COMPILED template void ops::mean_of_terms(cpu::queue&, double*, double*, std::size_t, const double*, const double*,
                                                const detail::smooth_error<double>&, const detail::smooth_error_slope<double>&,
                                                const double*);

} // namespace cairn
#endif
