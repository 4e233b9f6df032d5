// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::detail {

struct product_of_two {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T a, T b) const {
    return a * b;
  }
};

} // namespace cairn::detail

namespace cairn::ops {

// to_i = f(from_i, ...) for every i in [0, count): for a layer of your own that runs on every device. All arrays have the same
// element type T, and at least one is read; `to` may be any of them.
//
// f computes one element: T f(T, ...) const. For bfloat16 and float16 it takes floats and returns one, which is rounded. f is
// copied to the device, so its type must be copyable byte by byte; it holds numbers, no pointers. A kernel calls f, so its
// operator() is marked CAIRN_HOST_DEVICE, which has no effect for a compiler that makes code for the host only. Errors of a GPU
// name the op "elementwise", or by the constant `name` of f if it has one.
template <class T, class F, class... From>
void elementwise(detail::queue_without_this_op, std::size_t count, const F& f, T* to, const From*... from) = delete;

} // namespace cairn::ops
