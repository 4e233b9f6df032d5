// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/adam/adam.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/elementwise/elementary.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

template <class T>
struct adam_element {
  adam_coefficients<T> c;
  T scale;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& p, T& mean, T& square, T gradient) const {
    p *= c.shrink;
    const T g = scale * gradient + c.weight_decay * p;
    mean = c.keep_mean * mean + c.fresh_mean * g;
    square = c.keep_square * square + c.fresh_square * g * g;
    p -= c.rate * mean / (square_root(square) * c.correction + c.eps);
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void adam(cpu::queue& queue, std::size_t count, T* parameters, T* mean, T* square, const T* gradients,
          const std::type_identity_t<adam_coefficients<T>>& given) {
  if (given.decision.skips()) return;
  const adam_coefficients<T> c = given.decided();
  const T *const p = parameters, *const m = mean, *const s = square;
  const T scale = static_cast<T>(c.factor == nullptr ? c.scale : c.scale * *c.factor);
  detail::elementwise(queue, count, detail::adam_element<T>{c, scale}, std::array{parameters, mean, square},
                      std::array{p, m, s, gradients});
}

} // namespace cairn::ops

CAIRN_KERNELS_END
