// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// output = input + table for every sample: both are (samples, count), the table is (count). The output may lie on the input.
template <class T>
void add_positions(detail::queue_without_this_op, std::size_t samples, std::size_t count, T* output,
                   const std::type_identity_t<T>* input, const std::type_identity_t<T>* table) = delete;

// The gradient (whole) of a table whose first `count` elements were added is overwritten. These are the sums of the samples of
// the output gradient (samples, count), added in ascending order, in chains (see sums.hpp); in float for elements of 16 bits.
// The others are 0.
template <class T>
void positions_gradient(detail::queue_without_this_op, std::size_t samples, std::size_t count, std::size_t whole,
                        accumulated<T>* gradient, const T* output_gradient) = delete;

// output(s, t, j) = input(s, t, j) + sin(t f) for an even j, + cos(t f) for an odd one, where f = 10000^(-2 floor(j / 2) / width)
// is found in double and each sine is rounded to the type of sums. Both are (samples, length, width). The output may lie on the
// input. With one more argument t begins at that one in place of 0.
template <class T>
void add_sinusoids(detail::queue_without_this_op, std::size_t samples, std::size_t length, std::size_t width, T* output,
                   const std::type_identity_t<T>* input) = delete;
template <class T>
void add_sinusoids(detail::queue_without_this_op, std::size_t samples, std::size_t length, std::size_t width, T* output,
                   const std::type_identity_t<T>* input, std::size_t first_position) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T>
concept positions_run_on = requires(Queue& queue, std::size_t n, T* y, const T* x, accumulated<T>* sum) {
  add_positions(queue, n, n, y, x, x);
  positions_gradient(queue, n, n, n, sum, x);
};
template <class Queue, class T>
concept sinusoids_run_on = requires(Queue& queue, std::size_t n, T* y, const T* x) { add_sinusoids(queue, n, n, n, y, x); };

} // namespace cairn::detail
