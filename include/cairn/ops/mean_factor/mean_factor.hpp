// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// *factor = 1 / (times k), where k is how many of `count` words are not 0, at least one. Word i is the four numbers from
// words + i stride on, as write_as_numbers() leaves them (ops/checksum/checksum.hpp).
//
// Where work is done later, it makes a mean of a sum over ranks of which the host does not know how many have samples.
template <class T>
void mean_factor(detail::queue_without_this_op, double* factor, double times, std::size_t count, const T* words,
                 std::size_t stride) = delete;

} // namespace cairn
