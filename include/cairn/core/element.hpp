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
  std::size_t int32 = sizeof(std::int32_t);

  constexpr std::size_t operator[](element e) const {
    return e == element::real ? real : e == element::accumulated ? accumulated : int32;
  }
  // Of parameters and buffers. If sums of T are kept in another type they are in memory twice, in that type and as T, and
  // begin after as many elements in both: so their places are counted in T, one for an element of any kind.
  constexpr element_sizes kept() const { return real < accumulated ? element_sizes{real, real, real} : *this; }
};

template <class T>
inline constexpr element_sizes sizes_of{sizeof(T), sizeof(accumulated<T>)};

} // namespace detail

} // namespace cairn
