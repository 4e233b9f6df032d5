// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/device/cpu.hpp>
#include <cairn/ops/elementwise/cpu.hpp>
#include <cairn/ops/scale/scale.hpp>

namespace cairn {

namespace detail {

template <class T>
struct scale_element {
  T factor;
  [[gnu::always_inline]] inline void operator()(T& x) const { x *= factor; }
};

} // namespace detail

template <class T>
void scale(cpu::queue& queue, std::size_t count, T* result, const std::type_identity_t<T>* x,
           std::type_identity_t<T> factor) {
  elementwise(queue, count, detail::scale_element<T>{factor}, std::array{result}, std::array{x});
}

} // namespace cairn
