// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/sgd/sgd.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

template <class T>
struct sgd_element {
  sgd_coefficients<T> c;
  T scale;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& p, T g) const {
    p -= c.learning_rate * (scale * g + c.weight_decay * p);
  }
};

template <class T, bool Nesterov>
struct sgd_momentum_element {
  sgd_coefficients<T> c;
  T scale;
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline void operator()(T& p, T& v, T gradient) const {
    const T g = scale * gradient + c.weight_decay * p;
    v = c.momentum * v + c.fresh * g;
    if constexpr (Nesterov) p -= c.learning_rate * (g + c.momentum * v);
    else p -= c.learning_rate * v;
  }
};

} // namespace cairn::detail

namespace cairn::ops {

template <class T>
void sgd(cpu::queue& queue, std::size_t count, T* parameters, T* velocity, const T* gradients,
         const std::type_identity_t<sgd_coefficients<T>>& given) {
  if (given.decision.skips()) return;
  const sgd_coefficients<T> c = given.decided();
  const T* const p = parameters;
  const T* const v = velocity;
  const T scale = static_cast<T>(c.factor == nullptr ? c.scale : c.scale * *c.factor);
  const std::array results{parameters, velocity};
  const std::array sources{p, v, gradients};
  if (c.momentum == T{0})
    detail::elementwise(queue, count, detail::sgd_element<T>{c, scale}, std::array{parameters}, std::array{p, gradients});
  else if (c.nesterov) detail::elementwise(queue, count, detail::sgd_momentum_element<T, true>{c, scale}, results, sources);
  else detail::elementwise(queue, count, detail::sgd_momentum_element<T, false>{c, scale}, results, sources);
}

} // namespace cairn::ops

CAIRN_KERNELS_END
