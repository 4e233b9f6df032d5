// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// softmax_cross_entropy() with probabilities of all classes as targets. With L_c = log softmax(x)_c of a row, a =
// label_smoothing, w the class weights (null: all are 1), C classes and v_c = w_c ((1 - a) t_c + a / C),
//   *loss = 1/rows sum over rows of  -sum_c v_c L_c
//   output_gradient = scale (softmax(x) sum_k v_k - v_c) / rows    not computed when it is null; may lie on the logits
//
// Logits, their gradient and the targets are (rows, classes) without gaps. Targets need not add up to 1, and are not
// checked. Rows are added up in double; with no rows the loss is 0. The scale is a number in the device's memory;
// null: 1.
template <class T>
void soft_cross_entropy(detail::queue_without_this_op, double* loss, T* output_gradient,
                        std::type_identity_t<matrix<const T>> logits, const accumulated<T>* targets,
                        const accumulated<T>* class_weights, double label_smoothing,
                        const double* gradient_scale = nullptr) = delete;

} // namespace cairn::ops

namespace cairn::detail {

// A device whose queue is Queue has this op of elements of type T.
template <class Queue, class T>
concept soft_cross_entropy_runs_on =
    requires(Queue& queue, double* loss, T* y, matrix<const T> x, const accumulated<T>* targets) {
      soft_cross_entropy(queue, loss, y, x, targets, targets, 0.0);
    };

} // namespace cairn::detail
