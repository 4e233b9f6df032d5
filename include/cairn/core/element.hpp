// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/accumulated.hpp>

namespace cairn {

// The type of a tensor's elements, by their role. A layer is written for any T, so it names the role; the network's T decides
// the type.
enum class element : unsigned char {
  real,        // T
  accumulated, // cairn::accumulated<T>
  int32,       // std::int32_t: tokens, labels
};

} // namespace cairn

namespace cairn::detail {

// The bytes of one element of each kind.
struct element_sizes {
  std::size_t real = 0;
  std::size_t accumulated = 0;
  std::size_t int32 = sizeof(std::int32_t);

  constexpr std::size_t operator[](element e) const {
    return e == element::real ? real : e == element::accumulated ? accumulated : int32;
  }
  // The sizes for parameters and buffers. If sums of T are kept in another type, these are in memory twice, in that type and as
  // T, and each tensor begins after the same number of elements in both. So offsets are counted as if elements of every kind
  // had T's size.
  constexpr element_sizes kept() const { return real < accumulated ? element_sizes{real, real, real} : *this; }
};

template <class T>
inline constexpr element_sizes sizes_of{sizeof(T), sizeof(accumulated<T>)};

} // namespace cairn::detail
