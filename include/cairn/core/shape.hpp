// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// More elements than there is memory for, and few enough that the bytes of a thousand such tensors still fit into 64 bits.
inline constexpr std::size_t too_many = std::size_t{1} << 48;

// a * b, or `too_many` where it is that or more.
constexpr std::size_t counted(std::size_t a, std::size_t b) {
  if ((a | b) >> 24 == 0) return a * b;
  return a != 0 && b > (too_many - 1) / a ? too_many : a * b;
}

} // namespace cairn::detail

namespace cairn {

// The extents of one sample, outermost first; the batch is never part of a shape. Images are (height, width, channels). A shape
// of rank 0 is one number.
struct shape {
  static constexpr std::size_t max_rank = 8;

  std::array<std::size_t, max_rank> extents{};
  std::size_t rank = 0;

  constexpr shape() = default;
  constexpr shape(std::initializer_list<std::size_t> list) {
    for (const std::size_t extent : list) push_back(extent);
  }

  // Past max_rank this is no constant expression, so a plan of such a shape does not compile.
  constexpr void push_back(std::size_t extent) { extents[rank++] = extent; }

  constexpr std::size_t operator[](std::size_t axis) const { return extents[axis]; }
  constexpr std::size_t& operator[](std::size_t axis) { return extents[axis]; }

  // The number of elements of one sample, at most detail::too_many: a product that leaves 64 bits would look small.
  constexpr std::size_t size() const {
    std::size_t product = 1;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (extents[axis] == 0) return 0;
      product = detail::counted(product, extents[axis]);
    }
    return product;
  }

  // The innermost extent, which torch.nn calls features or channels; 1 for a single number.
  constexpr std::size_t last() const { return rank == 0 ? 1 : extents[rank - 1]; }

  // The same extents with another innermost one.
  constexpr shape with_last(std::size_t extent) const {
    shape result = *this;
    if (rank == 0) result.push_back(extent);
    else result.extents[rank - 1] = extent;
    return result;
  }

  constexpr bool operator==(const shape& other) const {
    if (rank != other.rank) return false;
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (extents[axis] != other.extents[axis]) return false;
    return true;
  }
};

// A shape as a type: readable in an error, and usable as a template argument on every compiler.
template <std::size_t... Extents>
struct dims {
  static constexpr shape value{Extents...};
};

} // namespace cairn
