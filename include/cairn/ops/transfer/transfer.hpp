// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/ops/queue_without_this_op.hpp>

namespace cairn {

// `count` elements of the host at `from` to the device's memory at `to`. They are read when the queue gets there: until an event
// behind it is reached they must stay as they are.
template <class T>
void upload(detail::queue_without_this_op, std::size_t count, T* to, const T* from) = delete;

// `count` elements of the device at `from` to the host's memory at `to`. They are there when an event behind it is reached.
template <class T>
void download(detail::queue_without_this_op, std::size_t count, T* to, const T* from) = delete;

} // namespace cairn
