// SPDX-License-Identifier: MIT
// The only header that includes xtensor: it converts arrays to views and back, without a copy.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<xtensor/containers/xadapt.hpp>) // from version 0.26 on
#include <xtensor/containers/xadapt.hpp>
#elif __has_include(<xtensor/xadapt.hpp>)
#include <xtensor/xadapt.hpp>
#else
#error "cairn/data/xtensor.hpp needs xtensor: install libxtensor-dev (Debian), or xtensor by conan or vcpkg"
#endif

#include <cairn/core/error.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/core/view.hpp>
#include <cairn/data/owned_tensor.hpp>

namespace cairn {

// The memory of a view as an xtensor expression (rows, sample), row-major, without a copy: readable, and writable if the view
// is. It is valid as long as the view's memory.
template <class T>
auto as_xtensor(const tensor_view<T>& view) {
  std::vector<std::size_t> extents{view.rows()};
  for (std::size_t axis = 0; axis < view.sample_shape().rank; ++axis) extents.push_back(view.sample_shape()[axis]);
  return xt::adapt<xt::layout_type::row_major>(view.data(), view.size(), xt::no_ownership(), extents);
}

template <class T>
auto as_xtensor(const types::owned_tensor<T>& values) {
  return as_xtensor(tensor_view<const T>(values));
}
template <class T>
auto as_xtensor(types::owned_tensor<T>&&) = delete; // it would be gone before the array is read: give it a name

// An xtensor array (rows, sample) as a view, without a copy; also an xtensor view of an array, as long as it has no gaps.
// Throws input_error if the elements are not contiguous in row-major order, or if there is no axis of rows. The array must
// outlive the view.
template <class Array>
  requires requires(Array& array) {
    array.data();
    array.data_offset();
    array.strides();
    array.shape();
  }
auto as_view(Array& array) {
  const std::size_t axes = array.shape().size();
  if (axes == 0 || axes > shape::max_rank + 1)
    throw input_error("as_view: expected an array of 1 to " + std::to_string(shape::max_rank + 1) +
                      " axes, the first of them rows, found " + std::to_string(axes) + " axes");
  shape sample;
  for (std::size_t axis = 1; axis < axes; ++axis) sample.push_back(static_cast<std::size_t>(array.shape()[axis]));
  std::ptrdiff_t expected = 1;
  for (std::size_t axis = axes; axis-- > 0;) {
    const auto extent = static_cast<std::ptrdiff_t>(array.shape()[axis]);
    const auto stride = static_cast<std::ptrdiff_t>(array.strides()[axis]);
    if (extent > 1 && stride != expected && array.size() != 0) // xtensor writes 0 for the stride of an extent of 1
      throw input_error("as_view: expected row-major elements without gaps, so a stride of " + std::to_string(expected) +
                        " for axis " + std::to_string(axis) + ", found " + std::to_string(stride) +
                        "; copy it into an xt::xarray<T, xt::layout_type::row_major> first");
    expected *= extent;
  }
  auto* const first = array.data() + static_cast<std::ptrdiff_t>(array.data_offset());
  return tensor_view<std::remove_pointer_t<decltype(first)>>(first, static_cast<std::size_t>(array.shape()[0]), sample);
}

// A temporary array would be gone before the view is read.
template <class Array>
  requires(!std::is_lvalue_reference_v<Array>)
auto as_view(Array&& array) = delete;

} // namespace cairn
