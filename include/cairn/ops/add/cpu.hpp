// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <cairn/device/cpu.hpp>
#include <cairn/ops/add/add.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

namespace cairn {

namespace detail {

struct add_element {
  template <class T>
  [[gnu::always_inline]] inline void operator()(T& a, T b) const {
    a += b;
  }
};

} // namespace detail

template <class T>
void add(cpu::queue& queue, std::size_t count, T* sum, const std::type_identity_t<T>* a,
         const std::type_identity_t<T>* b) {
  detail::elementwise(queue, count, detail::add_element{}, std::array{sum}, std::array{a, b});
}

} // namespace cairn
