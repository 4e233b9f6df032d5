// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/shape.hpp>

namespace cairn::detail {

// A contiguous array of numbers with data() and size(): a std::span, a std::vector, a tensor_view, a std::array, an xtensor.
// It is read in place.
template <class Range>
concept numbers = requires(const Range& r) {
  { r.size() } -> std::convertible_to<std::size_t>;
  requires std::is_pointer_v<decltype(r.data())>;
  requires std::is_arithmetic_v<std::remove_cvref_t<decltype(*r.data())>> ||
               floating_element<std::remove_cvref_t<decltype(*r.data())>>;
};

template <numbers Range>
using number_of = std::remove_cvref_t<decltype(*std::declval<const Range&>().data())>;

// Throws input_error if an array has strides and is not contiguous, with the last axis fastest.
template <class Range>
void check_layout(const Range& range, const char* where) {
  if constexpr (requires {
                  range.shape().size();
                  range.strides().size();
                }) {
    std::size_t expected = 1;
    for (std::size_t axis = range.shape().size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(range.shape()[axis]);
      if (extent > 1 && static_cast<std::size_t>(range.strides()[axis]) != expected)
        throw input_error(std::string(where) + ": expected numbers in row-major order without gaps (a stride of " +
                          std::to_string(expected) + " on axis " + std::to_string(axis) + "), found a stride of " +
                          std::to_string(range.strides()[axis]) + "; pass a contiguous row-major array");
      expected *= extent;
    }
  }
}

// A pointer to the first number. The data() of an xtensor view is that of the array; data_offset() is where the view begins.
template <class Range>
auto* first_number(const Range& range) {
  if constexpr (requires { range.data_offset(); }) return range.data() + static_cast<std::ptrdiff_t>(range.data_offset());
  else return range.data();
}

inline std::string extents_text(const shape& s) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < s.rank; ++axis) text += (axis == 0 ? "" : ", ") + std::to_string(s[axis]);
  return text + ")";
}

// Compares the extents of one sample, in an array that knows its extents, with the expected ones; throws input_error if they
// differ. A sample of the same size is accepted too where either has only one axis: an image has its rows one after another,
// flattened or not.
inline void check_sample(const shape& found, const shape& expected, const char* where) {
  if (found == expected || (found.size() == expected.size() && (found.rank < 2 || expected.rank < 2))) return;
  throw input_error(std::string(where) + ": expected samples of the shape " + extents_text(expected) +
                    ", found samples of the shape " + extents_text(found));
}

// Returns the number of samples. Throws input_error if it is not 1 … `most`, or if the last sample is incomplete.
template <class Range>
std::size_t count_rows(const Range& range, const shape& sample, std::size_t most, const char* where) {
  check_layout(range, where);
  const auto size = static_cast<std::size_t>(range.size());
  const std::size_t each = sample.size();
  if constexpr (requires { check_sample(range.sample_shape(), sample, where); }) {
    check_sample(range.sample_shape(), sample, where);
  } else if constexpr (requires {
                         range.shape().size();
                         range.shape()[0];
                       }) {
    const std::size_t axes = range.shape().size();
    shape found;
    for (std::size_t axis = 1; axis < axes && axis <= shape::max_rank; ++axis)
      found.push_back(static_cast<std::size_t>(range.shape()[axis]));
    if (axes > 1) check_sample(found, sample, where);
  }
  if (size == 0 || size % each != 0)
    throw input_error(std::string(where) + ": expected samples of " + std::to_string(each) + " numbers, found " +
                      std::to_string(size) + " numbers, which is no whole number of samples");
  const std::size_t rows = size / each;
  if (rows > most)
    throw input_error(std::string(where) + ": expected at most " + std::to_string(most) +
                      " samples, the batch that was planned for, found " + std::to_string(rows) +
                      "; give fewer at a time or raise batch<" + std::to_string(most) + ">");
  return rows;
}

} // namespace cairn::detail
