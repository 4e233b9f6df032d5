// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// Copies `count` elements unchanged. Nothing happens if both are the same place; otherwise the two must not overlap.
template <class T>
void copy(detail::queue_without_this_op, std::size_t count, T* to, const T* from) = delete;

// The same for matrices of equal shape and any strides, for taking a concatenation apart. Nothing happens if both are the same
// place; otherwise the two must not overlap.
template <class T>
void copy_matrix(detail::queue_without_this_op, matrix<T> to, std::type_identity_t<matrix<const T>> from) = delete;

} // namespace cairn::ops
