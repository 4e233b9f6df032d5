// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// Rows of `columns` elements, one for each position of a sequence of `length`. They begin with `heads` heads of `width` elements,
// and the first `turned` elements of each head are rotated: i and i + turned / 2 are a pair, turned by position * base^(-2 i /
// turned) radians.
struct rotation {
  std::size_t length = 1, columns = 0, heads = 0, width = 0, turned = 0;
  double base = 10000;
};

// Rotates the pairs of every row of the input (samples, length, columns), or rotates them back; all other elements are copied.
// Angles are found in double, and each sine is rounded to the type of sums. The output may be the input. With one more argument
// the first position is that one in place of 0.
template <class T>
void rotate(detail::queue_without_this_op, const rotation& how, bool back, std::size_t samples, T* output,
            const std::type_identity_t<T>* input) = delete;
template <class T>
void rotate(detail::queue_without_this_op, const rotation& how, bool back, std::size_t samples, T* output,
            const std::type_identity_t<T>* input, std::size_t first_position) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has this op of elements of type T.
template <class Queue, class T>
concept rotation_runs_on =
    requires(Queue& queue, const rotation& how, T* y, const T* x) { rotate(queue, how, false, std::size_t{1}, y, x); };

} // namespace cairn::detail
