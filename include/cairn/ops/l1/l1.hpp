// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/accumulated.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// *loss = sum |y - t| / count                 added up in double
// output_gradient = sign(y - t) / count       not computed when it is null; may lie on the output
//
// sign(0) is 0, as in torch.nn.L1Loss; sign(NaN) is NaN. All are `count` elements; of none the loss is 0.
template <class T>
void l1(detail::queue_without_this_op, double* loss, T* output_gradient, std::size_t count, const T* output,
        const accumulated<T>* targets) = delete;

} // namespace cairn
