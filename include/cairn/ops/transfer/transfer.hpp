// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/rooms.hpp>
#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn::ops {

// Copies `count` elements of the host at `from` to the device's memory at `to`. They are read when the queue gets there, and
// must not change until an event recorded after this is reached.
template <class T>
void upload(detail::queue_without_this_op, std::size_t count, T* to, const T* from) = delete;

// Copies `count` elements of the device at `from` to the host's memory at `to`. They are there when an event recorded after
// this is reached.
template <class T>
void download(detail::queue_without_this_op, std::size_t count, T* to, const T* from) = delete;

} // namespace cairn::ops
