// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// *sum = sum of x_i^2, squared and added up in double. The order of the additions depends on count only, so
// the bits do not depend on the number of threads.
template <class T>
void squared_norm(detail::queue_without_this_op, double* sum, const T* x, std::size_t count) = delete;

} // namespace cairn::ops
