// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// A loss that is a mean over elements. Your own loss, written with it, runs on every device.
//   *loss = sum term(y_i, t_i) / count                         added up in double
//   output_gradient_i = scale derivative(y_i, t_i) / count     not computed when it is null; may lie on the output
//
// Both functions are as elementwise() takes them, with two arguments: the output y, as a float if T has 16 bits, and its target;
// derivative is that by y. A cpu adds up a term that returns double for floats as it is; a GPU rounds it to T and adds up
// chains of terms in T, and the chains in double. All arrays have `count` elements; with none the loss is 0. The scale is a
// number in the device's memory; null: 1.
template <class T, class Term, class Derivative>
void mean_of_terms(detail::queue_without_this_op, double* loss, T* output_gradient, std::size_t count, const T* output,
                   const accumulated<T>* targets, const Term& term, const Derivative& derivative,
                   const double* gradient_scale = nullptr) = delete;

} // namespace cairn::ops
