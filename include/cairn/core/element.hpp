// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>

namespace cairn {

// What the elements of a tensor are. A layer is written for any T, so it names what they are for; the network's T says
// which type that is.
enum class element : unsigned char {
  real,        // T
  accumulated, // cairn::accumulated<T>
  int32,       // std::int32_t: tokens, labels
};

namespace detail {

// How many bytes one element of each kind has.
struct element_sizes {
  std::size_t real = 0;
  std::size_t accumulated = 0;

  constexpr std::size_t operator[](element e) const {
    return e == element::real ? real : e == element::accumulated ? accumulated : sizeof(std::int32_t);
  }
};

template <class T>
inline constexpr element_sizes sizes_of{sizeof(T), sizeof(accumulated<T>)};

} // namespace detail

} // namespace cairn
