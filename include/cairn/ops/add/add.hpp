// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/rooms.hpp>
#include <cairn/core/view.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// sum = a + b, `count` elements each. The sum may lie on a or on b.
template <class T>
void add(detail::queue_without_this_op, std::size_t count, T* sum, const std::type_identity_t<T>* a,
         const std::type_identity_t<T>* b) = delete;

// The same for matrices of equal shape and any strides.
template <class T>
void add_matrix(detail::queue_without_this_op, matrix<T> sum, std::type_identity_t<matrix<const T>> a,
                std::type_identity_t<matrix<const T>> b) = delete;

} // namespace cairn::ops
