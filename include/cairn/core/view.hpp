// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span> // declares std::ranges::enable_borrowed_range, at a tenth of the cost of <ranges>
#include <type_traits>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/shape.hpp>

CAIRN_KERNELS_BEGIN

// Views of arrays that lie elsewhere. Both views below copy freely and own nothing.

namespace cairn::ops {

// Rows of elements; `stride` is the distance between the starts of two rows, in elements. Element (r, c) is
// data[r * stride + c]. Kernels take it.
template <class T>
struct matrix {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;

  constexpr matrix() = default;
  constexpr matrix(T* first, std::size_t r, std::size_t c) : matrix(first, r, c, c) {}
  constexpr matrix(T* first, std::size_t r, std::size_t c, std::size_t s) : data(first), rows(r), columns(c), stride(s) {}

  // A view to write through is also a view to read through.
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  constexpr matrix(matrix<U> other) : matrix(other.data, other.rows, other.columns, other.stride) {}

  CAIRN_HOST_DEVICE constexpr T& operator()(std::size_t row, std::size_t column) const { return data[row * stride + column]; }
};

} // namespace cairn::ops

namespace cairn {

// `rows` samples of one shape, one after another without gaps: the form in which datasets, loaders and trainers pass data. It
// is a contiguous range, so it converts to a std::span<T>.
template <class T>
class tensor_view {
public:
  using value_type = std::remove_const_t<T>;

  constexpr tensor_view() = default;
  constexpr tensor_view(T* data, std::size_t rows, const shape& sample) : data_(data), rows_(rows), sample_shape_(sample) {}

  // A view to write through is also a view to read through.
  template <class U>
    requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
  constexpr tensor_view(const tensor_view<U>& other) : tensor_view(other.data(), other.rows(), other.sample_shape()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t rows() const { return rows_; }
  constexpr const shape& sample_shape() const { return sample_shape_; } // without the rows
  constexpr std::size_t size() const { return rows_ * sample_shape_.size(); }
  constexpr bool empty() const { return size() == 0; }

  constexpr T* row(std::size_t index) const { return data_ + index * sample_shape_.size(); }

  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size(); }
  constexpr T& operator[](std::size_t index) const { return data_[index]; } // counts elements, not rows

private:
  T* data_ = nullptr;
  std::size_t rows_ = 0;
  shape sample_shape_{};
};

} // namespace cairn

CAIRN_KERNELS_END

// The memory outlives the view, so a std::span may be made from a temporary one.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::tensor_view<T>> = true;
