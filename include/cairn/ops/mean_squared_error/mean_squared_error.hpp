// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// *loss = sum (y - t)^2 / count               added up in double
// output_gradient = 2 (y - t) / count         not computed when it is null; may lie on the output
//
// All are `count` elements; of none the loss is 0.
template <class T>
void mean_squared_error(detail::queue_without_this_op, double* loss, T* output_gradient, std::size_t count, const T* output,
                        const accumulated<T>* targets) = delete;

} // namespace cairn
