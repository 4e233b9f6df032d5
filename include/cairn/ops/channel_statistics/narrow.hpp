// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/channel_statistics/cpu.hpp>
#include <cairn/ops/channel_statistics/reference.hpp>

CAIRN_KERNELS_BEGIN

// 16-bit elements: computed in double by the reference.
namespace cairn::ops {

template <detail::narrow_element T>
void channel_statistics(cpu::queue&, matrix<const T> x, std::type_identity_t<accumulated<T>>* statistics) {
  detail::channel_statistics_reference(x, statistics);
}
template <detail::narrow_element T>
void channel_statistics_backward(cpu::queue&, matrix<T> dx, std::type_identity_t<matrix<const T>> dy,
                                 std::type_identity_t<matrix<const T>> x, const std::type_identity_t<accumulated<T>>* statistics,
                                 const std::type_identity_t<accumulated<T>>* gradient) {
  detail::channel_statistics_backward_reference(dx, dy, x, statistics, gradient);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
