// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/view.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// `count` elements, as they are. Nothing happens when both are the same place; else the two must not overlap.
template <class T>
void copy(detail::queue_without_this_op, std::size_t count, T* to, const T* from) = delete;

// The same of a matrix into another with as many rows and columns, whose rows may be apart by any stride: how a
// concatenation is taken apart. Nothing happens when both are the same place; else the two must not overlap.
template <class T>
void copy_matrix(detail::queue_without_this_op, matrix<T> to, std::type_identity_t<matrix<const T>> from) = delete;

} // namespace cairn
