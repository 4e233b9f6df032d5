// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

namespace cairn {

// Somebody else's memory, read as rows of numbers; `stride` is the distance between the starts of two rows, in
// elements. Element (r, c) is data[r * stride + c]. Copies freely and owns nothing.
template <class T>
struct matrix {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;

  constexpr matrix() = default;
  constexpr matrix(T* first, std::size_t r, std::size_t c) : matrix(first, r, c, c) {}
  constexpr matrix(T* first, std::size_t r, std::size_t c, std::size_t s)
      : data(first), rows(r), columns(c), stride(s) {}

  // A view to write through is also a view to read through.
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>) constexpr matrix(matrix<U> other)
      : matrix(other.data, other.rows, other.columns, other.stride) {}

  constexpr T& operator()(std::size_t row, std::size_t column) const { return data[row * stride + column]; }
};

} // namespace cairn
