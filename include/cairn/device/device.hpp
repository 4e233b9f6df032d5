// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

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
//   6. d.allocate(bytes) and d.staging(bytes) are the only members that may allocate. They are called while a network
//      is set up, never in a step;
//   7. D::queue::shares_memory says whether the host may read and write data() once the work on it is done. Where it
//      may not, bytes come and go by the ops upload and download (ops/transfer/transfer.hpp), and nothing else
//      touches them;
//   8. d.staging(bytes) is memory of the host from which the device copies best, as CUDA's pinned memory. D::host_memory
//      is like D::memory, and the host may always read and write it;
//   9. d.transfers() is the queue for copies between the host and the device. It may be compute();
//  10. queue.reached(event) says, without waiting, whether an event's place has been reached: what was put before it is
//      done, and what the host reads of it is there. It throws cairn::error for what an op did wrong. queue.finish() comes
//      back when all that was put there is done, and throws likewise;
//  11. D(device_options) makes one. Two objects may stand for the same processor.
//
// It may tell how long its work takes (detail::tells_time): D::queue::stopwatch(queue, most) is made before the work, with room
// for so many places; those beyond it may allocate. mark() puts a place on the queue, behind everything put there so far, and
// gives its number, from 0; nanoseconds(k) is the device's time from place 0 to place k, once both have been reached; restart()
// forgets all of them. stopwatch::least says from how many nanoseconds on a difference of two places means something.
//
// It may have static int count(): how many there are, numbered from 0 by device_options::ordinal. Ranks of a machine then take
// one after the other, and begin again with the first.
//
// Ops are not members. An op is a free function in namespace cairn whose first argument is the queue that it
// is put on, as in matmul(queue, c, a, b, transpose::second): a device comes with its own overloads, and a
// layer, which calls them unqualified, need not know for which device it is compiled. The program that runs
// the layer includes them: ops/cpu.hpp has all of the cpu, and ops_for in ops/ops.hpp says what there must be.
//
// Not required: that an op is done when its call returns (on cpu it is, elsewhere it need not be), that the
// host can read data(), more than one queue, or being callable from several threads: one thread at a time puts work
// on a queue, or asks it.

// What is said of a device when it is made. A device takes of it what it has a choice of.
struct device_options {
  std::size_t threads = 1; // inside one op
  int ordinal = 0;         // which one, where a machine has several of the kind
};

namespace detail {

template <class M>
concept device_memory = std::movable<M> && !std::copyable<M> && requires(const M& block) {
  { block.data() } -> std::convertible_to<std::byte*>;
  { block.size() } -> std::same_as<std::size_t>;
};

template <class Q, class Event>
concept device_queue = requires(Q& queue, const Event& event) {
  { Q::shares_memory } -> std::convertible_to<bool>;
  { queue.record() } -> std::same_as<Event>;
  queue.wait(event);
  { queue.reached(event) } -> std::same_as<bool>;
  queue.finish();
};

template <class Q>
concept tells_time = requires(Q& queue, std::size_t number) {
  typename Q::stopwatch;
  requires requires(typename Q::stopwatch& watch) {
    { watch.mark() } -> std::same_as<std::size_t>;
    { watch.nanoseconds(number) } -> std::same_as<std::int64_t>;
    { Q::stopwatch::least } -> std::convertible_to<std::int64_t>;
    watch.restart();
  };
  requires std::constructible_from<typename Q::stopwatch, Q&, std::size_t>;
};

} // namespace detail

template <class D>
concept device = detail::device_memory<typename D::memory> && detail::device_memory<typename D::host_memory> &&
                 std::copyable<typename D::event> && detail::device_queue<typename D::queue, typename D::event> &&
                 std::constructible_from<D, device_options> && requires(D& d, std::size_t bytes) {
                   { d.compute() } -> std::same_as<typename D::queue&>;
                   { d.transfers() } -> std::same_as<typename D::queue&>;
                   { d.allocate(bytes) } -> std::same_as<typename D::memory>;
                   { d.staging(bytes) } -> std::same_as<typename D::host_memory>;
                 };

namespace detail {

template <class D>
concept counted_device = requires {
  { D::count() } -> std::convertible_to<int>;
};

// Whether the host may read what lies on this device.
template <class Device>
inline constexpr bool shares_memory = Device::queue::shares_memory;

} // namespace detail

} // namespace cairn
