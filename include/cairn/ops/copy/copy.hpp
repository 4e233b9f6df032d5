// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// `count` elements, as they are. Nothing happens when both are the same place; else the two must not overlap.
template <class T>
void copy(detail::queue_without_this_op, std::size_t count, T* to, const T* from) = delete;

} // namespace cairn
