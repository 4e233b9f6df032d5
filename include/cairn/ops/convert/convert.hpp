// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// Converts `count` elements to another type, each rounded to nearest, ties to even. A network of bfloat16 or float16 uses it to
// make the parameters that its layers read from the master copy, and inputs of type T from floats. The two arrays must not
// overlap.
template <class To, class From>
void convert(detail::queue_without_this_op, std::size_t count, To* to, const From* from) = delete;

} // namespace cairn::ops
