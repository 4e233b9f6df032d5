// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// *factor = 1 / (times k), where k is the number of nonzero words among `count`, at least one. Word i is the four numbers from
// words + i stride on, as write_as_numbers() writes them (ops/checksum/checksum.hpp).
//
// On an asynchronous device it makes a mean of a sum over ranks when the host does not know how many of them have samples.
template <class T>
void mean_factor(detail::queue_without_this_op, double* factor, double times, std::size_t count, const T* words,
                 std::size_t stride) = delete;

} // namespace cairn::ops
