// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include <cairn/core/config.hpp>

namespace cairn {

namespace detail {

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

} // namespace detail

// The type in which sums of T are kept where they are stored: gradients of parameters, statistics of a batch; and what
// lives from step to step: parameters, buffers, the optimizer's states. For float and double it is the type itself.
// bfloat16 and float16 have float: bfloat16 has 8 bits of mantissa, so a sum of ones would stop at 256. Such a type says it
// by a member sum_type; integers have none.
//
// It is about what is stored. Within one call an op may add up in something wider, and most do in double.
template <class T>
using accumulated = typename detail::accumulated_as<T>::type;

// A type that the elements of a network may have: float, double, bfloat16 (core/bfloat16.hpp) and float16
// (core/float16.hpp).
template <class T>
concept floating_element = requires { typename accumulated<T>; };

namespace detail {

// Sums of it are kept in another type: parameters are then in memory twice, as what is learnt and as what layers read.
template <class T>
inline constexpr bool is_narrow = !std::is_same_v<T, accumulated<T>>;

template <class T>
concept narrow_element = floating_element<T> && is_narrow<T>;

} // namespace detail

} // namespace cairn
