// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>

#include <cairn/core/config.hpp>

namespace cairn {

namespace detail {

template <class T>
struct accumulated_as;

template <std::floating_point T>
struct accumulated_as<T> {
  using type = T;
};

} // namespace detail

// The type in which sums of T are kept where they are stored: gradients of parameters, statistics of a batch, running
// statistics. For float and double it is the type itself. bfloat16 would need float: it has 8 bits of mantissa, so a sum
// of ones would stop at 256. Such a type gets a specialization of detail::accumulated_as; integers have none.
//
// It is about what is stored. Within one call an op may add up in something wider, and most do in double.
template <class T>
using accumulated = typename detail::accumulated_as<T>::type;

} // namespace cairn
