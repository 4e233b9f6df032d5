// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

namespace detail {

struct product_of_two {
  template <class T>
  [[gnu::always_inline]] CAIRN_HOST_DEVICE inline T operator()(T a, T b) const {
    return a * b;
  }
};

} // namespace detail

// to_i = f(from_i, ...) for every i in [0, count), for a layer of one's own that runs on every device. All arrays have the same
// element type T, and there is at least one to read; `to` may lie on any of them.
//
// f says how one element is computed and nothing else: T f(T, ...) const; of bfloat16 and float16 elements it is given floats and
// gives one, which is rounded. It is copied to the device, so it is a type that can be copied byte by byte, and holds numbers,
// no pointers. A kernel calls it, so its operator() is marked CAIRN_HOST_DEVICE; that means nothing to a compiler that makes
// code for the host only. Errors of a GPU call it "elementwise", or by a constant `name` that it has.
template <class T, class F, class... From>
void elementwise(detail::queue_without_this_op, std::size_t count, const F& f, T* to, const From*... from) = delete;

} // namespace cairn
