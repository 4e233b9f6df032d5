// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include <cairn/core/config.hpp>

namespace cairn::detail {

template <class T>
struct accumulated_as;

template <class T>
  requires(std::is_same_v<T, float> || std::is_same_v<T, double>) //
struct accumulated_as<T> {
  using type = T;
};
template <class T>
  requires requires { typename T::sum_type; }
struct accumulated_as<T> {
  using type = typename T::sum_type;
};

} // namespace cairn::detail

namespace cairn {

// The type in which sums of T are stored (gradients of parameters, statistics of a batch), and everything that lives from step
// to step (parameters, buffers, optimizer states). For float and double it is T itself. For bfloat16 and float16 it is float:
// bfloat16 has 8 bits of mantissa, so a sum of ones would stop at 256. Such a type names it by a member sum_type; integers have
// none.
//
// It concerns storage only. Within one call an op may accumulate in a wider type, and most do in double.
template <class T>
using accumulated = typename detail::accumulated_as<T>::type;

} // namespace cairn

namespace cairn::detail {

// A type that the elements of a network may have: float, double, bfloat16 (core/bfloat16.hpp) and float16
// (core/float16.hpp).
template <class T>
concept floating_element = requires { typename accumulated<T>; };

// Low precision: sums of T are kept in another type. Parameters are then in memory twice, as the master copy and as the copy
// that layers read.
template <class T>
inline constexpr bool is_narrow = !std::is_same_v<T, accumulated<T>>;

template <class T>
concept narrow_element = floating_element<T> && is_narrow<T>;

} // namespace cairn::detail
