// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn {

// A device is where bytes live and in what order work on them happens.
//
// A type D is a device if
//   1. D::memory is a block of bytes that the device can reach: data() is its start, a multiple of
//      cairn::alignment, size() its length. It is moved, not copied, starts as zeros and is given back when
//      it is destroyed;
//   2. D::queue is a line of work. What is put on one queue happens in the order in which it was put there;
//      what is put on two queues happens in any order, also at the same time;
//   3. queue.record() is a D::event: the place in that queue behind everything put there so far. An event is
//      a value: it may be copied, kept, and waited for many times or never;
//   4. queue.wait(event) puts a wait on the queue: nothing put there later begins before the event's place
//      has been reached. The caller does not stop;
//   5. d.compute() is the queue that forward and backward use, the same one in every call;
//   6. d.allocate(bytes) is the only member that may allocate. It is called while a network is set up, never
//      in a step.
//
// Ops are not members. An op is a free function in namespace cairn whose first argument is the queue that it
// is put on, as in matmul(queue, c, a, b, transpose::second): a device comes with its own overloads, and a
// layer, which calls them unqualified, need not know for which device it is compiled. The program that runs
// the layer includes them: ops/cpu.hpp has all of the cpu, and ops_for in ops/ops.hpp says what there must be.
//
// Not required: that an op is done when its call returns (on cpu it is, elsewhere it need not be), that the
// host can read data() (copying to and from the host is an op), more than one queue, or being callable from
// several threads: one thread at a time puts work on a queue.

namespace detail {

template <class M>
concept device_memory = std::movable<M> && !std::copyable<M> && requires(const M& block) {
  { block.data() } -> std::convertible_to<std::byte*>;
  { block.size() } -> std::same_as<std::size_t>;
};

template <class Q, class Event>
concept device_queue = requires(Q& queue, const Event& event) {
  { queue.record() } -> std::same_as<Event>;
  queue.wait(event);
};

} // namespace detail

template <class D>
concept device = detail::device_memory<typename D::memory> && std::copyable<typename D::event> &&
                 detail::device_queue<typename D::queue, typename D::event> && requires(D& d, std::size_t bytes) {
                   { d.compute() } -> std::same_as<typename D::queue&>;
                   { d.allocate(bytes) } -> std::same_as<typename D::memory>;
                 };

} // namespace cairn
