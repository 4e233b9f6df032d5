// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// *loss = 1/rows sum over rows of  log(sum_c e^(x_c - m)) - (x_t - m),   m being the row's maximum
// output_gradient = (softmax(x) - [c = t]) / rows      not computed when it is null; may lie on the logits
//
// The logits and their gradient are (rows, classes) without gaps, the targets (rows) class numbers. Subtracting the maximum
// first keeps every exponential in (0, 1]. Rows are added up in double; with no rows the loss is 0. A target must be a class.
// This is not checked here, as a device could not report it in time: CrossEntropyLoss calls detail::check_classes before a step
// begins.
template <class T, std::integral Target>
void softmax_cross_entropy(detail::queue_without_this_op, double* loss, T* output_gradient,
                           std::type_identity_t<matrix<const T>> logits, const Target* targets) = delete;

// The other options of torch.nn.CrossEntropyLoss, with its names and defaults.
template <class T>
struct cross_entropy_options {
  static constexpr std::int64_t ignores_nothing = std::numeric_limits<std::int64_t>::min(); // as ignore_index

  std::int64_t ignore_index = -100;              // a row with this target counts neither in the loss nor in the mean
  double label_smoothing = 0;                    // the part of a target, 0 … 1, that is spread evenly over all classes
  const accumulated<T>* class_weights = nullptr; // (classes); null: all are 1
  const double* gradient_scale = nullptr;        // a number in the device's memory that multiplies the gradient; null: 1
};

// The same with options: with L_c = log softmax(x)_c of a row, a = label_smoothing, w the class weights and C classes,
//   *loss = sum over rows of  -(1 - a) w_t L_t - a/C sum_c w_c L_c,   divided by  W = sum over rows of w_t
//   output_gradient = ( ((1 - a) w_t + a/C sum_k w_k) softmax(x) - (1 - a) w_t [c = t] - a/C w_c ) / W
// Ignored rows are left out and have a gradient of 0. If all are ignored, or W is 0, the loss is 0, as with no rows above;
// torch gives NaN. The class weights have no gradient.
template <class T, std::integral Target>
void softmax_cross_entropy(detail::queue_without_this_op, double* loss, T* output_gradient,
                           std::type_identity_t<matrix<const T>> logits, const Target* targets,
                           const std::type_identity_t<cross_entropy_options<T>>& options) = delete;

// A strip of a batch: the rows from `first` on, of `all` rows.
struct strip_of_rows {
  std::size_t first = 0;
  std::size_t all = 0;
};

// The same for a strip of the logits, with the targets of all rows: W is the sum over all of them. The first strip overwrites
// *loss, the others add to it: after the last one it is the loss of all rows.
template <class T, std::integral Target>
void softmax_cross_entropy(detail::queue_without_this_op, double* loss, T* output_gradient,
                           std::type_identity_t<matrix<const T>> logits, const Target* targets,
                           const std::type_identity_t<cross_entropy_options<T>>& options, const strip_of_rows& of_batch) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// Throws input_error if a target is neither a class nor ignored: bad data must not cause reads out of bounds.
template <std::integral Target>
void check_classes(const Target* targets, std::size_t rows, std::size_t classes, const std::int64_t* ignored = nullptr) {
  for (std::size_t row = 0; row < rows; ++row) {
    const Target target = targets[row];
    if (std::cmp_greater_equal(+target, 0) && std::cmp_less(+target, classes)) [[likely]]
      continue;
    if (ignored != nullptr && std::cmp_equal(+target, *ignored)) continue;
    throw input_error("CrossEntropyLoss: target " + std::to_string(row) + " is " + std::to_string(target) +
                      ", but the classes are 0 to " + std::to_string(classes - 1) +
                      "; give class numbers, or a network with more outputs");
  }
}

// A device whose queue is Queue has these ops of elements of type T.
template <class Queue, class T, class Target>
concept softmax_cross_entropy_runs_on = requires(Queue& queue, double* loss, T* y, matrix<const T> x, const Target* targets,
                                                 const cross_entropy_options<T>& options) {
  softmax_cross_entropy(queue, loss, y, x, targets);
  softmax_cross_entropy(queue, loss, y, x, targets, options);
};

// It has the last of them too.
template <class Queue, class T, class Target>
concept softmax_cross_entropy_in_strips_runs_on =
    requires(Queue& queue, double* loss, T* y, matrix<const T> x, const Target* targets, const cross_entropy_options<T>& options,
             const strip_of_rows& of_batch) { softmax_cross_entropy(queue, loss, y, x, targets, options, of_batch); };

} // namespace cairn::detail
