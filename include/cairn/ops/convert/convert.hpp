// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// `count` elements as those of another type, each rounded to the nearest one, ties to even. A network of bfloat16 or
// float16 makes its layers' parameters from those that are learnt with it, and T from the floats that it is given. The two
// must not overlap.
template <class To, class From>
void convert(detail::queue_without_this_op, std::size_t count, To* to, const From* from) = delete;

} // namespace cairn
