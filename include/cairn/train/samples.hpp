// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include <cairn/core/error.hpp>

namespace cairn {

// Numbers that lie one after another and say where and how many: a std::span, a std::vector, a tensor_view, a
// std::array, an xtensor. They are read in place.
template <class Range>
concept numbers = requires(const Range& r) {
  { r.size() } -> std::convertible_to<std::size_t>;
  requires std::is_pointer_v<decltype(r.data())>;
  requires std::is_arithmetic_v<std::remove_cvref_t<decltype(*r.data())>>;
};

namespace detail {

template <numbers Range>
using number_of = std::remove_cvref_t<decltype(*std::declval<const Range&>().data())>;

// An array that tells its strides has to be contiguous, the last axis fastest.
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

// The first number. An xtensor view of an array says where the array begins, and how far from there its own part does.
template <class Range>
auto* first_number(const Range& range) {
  if constexpr (requires { range.data_offset(); })
    return range.data() + static_cast<std::ptrdiff_t>(range.data_offset());
  else return range.data();
}

// How many samples of `each` numbers there are: 1 … most, and nothing left over.
template <class Range>
std::size_t count_rows(const Range& range, std::size_t each, std::size_t most, const char* where) {
  check_layout(range, where);
  const auto size = static_cast<std::size_t>(range.size());
  if constexpr (requires {
                  range.shape().size();
                  range.shape()[0];
                }) {
    if (range.shape().size() > 1 && each * static_cast<std::size_t>(range.shape()[0]) != size)
      throw input_error(std::string(where) + ": expected samples of " + std::to_string(each) +
                  " numbers, found an array of " + std::to_string(range.shape()[0]) + " samples with " +
                  std::to_string(size) + " numbers in all; the first axis counts the samples");
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

} // namespace detail

} // namespace cairn
