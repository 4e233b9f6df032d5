// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/core/config.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::types {

// A device holds memory and decides in what order work on it is done.
//
// A type D is a device if
//   1. D::memory is a block of bytes that the device can reach: data() is its start, a multiple of
//      cairn::alignment, size() its length. It can be moved but not copied, is zero at first and is freed when
//      it is destroyed;
//   2. D::queue is a sequence of work. Work on one queue is done in the order in which it was put there; work on
//      two queues is done in any order, also at the same time;
//   3. queue.record() returns a D::event: the place in that queue after everything put there so far. An event is
//      a value: it may be copied, kept, and waited for many times or never;
//   4. queue.wait(event) puts a wait on the queue: nothing put there later begins before the event's place
//      has been reached. The caller does not block;
//   5. d.compute() is the queue that forward and backward use, the same one in every call;
//   6. d.allocate(bytes) and d.staging(bytes) are the only members that may allocate. They are called while a network
//      is set up, never in a step;
//   7. D::queue::shares_memory says whether the host may read and write data() once the work on it is done. If not,
//      bytes are copied by the ops upload and download (ops/transfer/transfer.hpp) only;
//   8. d.staging(bytes) is host memory from which the device copies fastest, such as CUDA's pinned memory. D::host_memory
//      is like D::memory, and the host may always read and write it;
//   9. d.transfers() is the queue for copies between the host and the device. It may be compute();
//  10. queue.reached(event) reports, without waiting, whether an event's place has been reached: the work before it is
//      done, and the host can read its results. It throws cairn::error if an op failed. queue.finish() returns when all
//      work put there is done, and throws likewise;
//  11. D(device_options) makes one. Two objects may refer to the same processor.
//
// A device may measure how long its work takes (detail::tells_time): D::queue::stopwatch(queue, most) is made before the work,
// with room for `most` places; more than that may allocate. mark() records a place on the queue, after everything put there so
// far, and returns its number, from 0. nanoseconds(k) is the device's time from place 0 to place k, once both have been
// reached. restart() forgets all places. stopwatch::least is the shortest meaningful time between two places, in nanoseconds.
//
// A device may have a queue d.downloads() for copies to the host that other ranks wait for, which lie behind a whole backward
// pass. Without it they are put on d.transfers(), and the next batch is queued behind them. d.in_use(), if there is one,
// returns what a thread holds while it puts a pass on the queues, such as the choice of a GPU.
//
// A device may have static int count(): the number of such devices, numbered from 0 by device_options::ordinal. The ranks of a
// machine then take them in turn, starting over after the last.
//
// A device may have static constexpr std::size_t scratch_bytes(std::size_t threads): the bytes that a device of so many threads
// allocates for its ops when it is made.
//
// Ops are not members. An op is a free function in namespace cairn whose first argument is the queue that it is put on, as in
// matmul(queue, c, a, b, transpose::second). A device comes with its own overloads, and a layer, which calls them unqualified,
// need not know for which device it is compiled. The program that runs the layer includes them: ops/cpu.hpp has all ops of the
// cpu, and ops_for in ops/ops.hpp lists those that are required.
//
// Not required: that an op is done when its call returns (on cpu it is, elsewhere it need not be), that the host can read
// data(), more than one queue, or thread safety: one thread at a time puts work on a queue or queries it.

// Options for making a device. A device ignores those that it offers no choice for.
struct device_options {
  std::size_t threads = 1; // inside one op
  int ordinal = 0;         // which one, where a machine has several of the kind
  bool graphs = true;      // may record work that comes again, and put it there by one call, as CUDA graphs do
};

} // namespace cairn::types

namespace cairn::detail {

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

} // namespace cairn::detail

namespace cairn {

template <class D>
concept device = detail::device_memory<typename D::memory> && detail::device_memory<typename D::host_memory> &&
                 std::copyable<typename D::event> && detail::device_queue<typename D::queue, typename D::event> &&
                 std::constructible_from<D, types::device_options> && requires(D& d, std::size_t bytes) {
                   { d.compute() } -> std::same_as<typename D::queue&>;
                   { d.transfers() } -> std::same_as<typename D::queue&>;
                   { d.allocate(bytes) } -> std::same_as<typename D::memory>;
                   { d.staging(bytes) } -> std::same_as<typename D::host_memory>;
                 };

} // namespace cairn

namespace cairn::detail {

template <class D>
concept counted_device = requires {
  { D::count() } -> std::convertible_to<int>;
};

// What a device wants to be held by a thread that puts a pass on its queues, if anything.
template <class D>
auto in_use(D& device) {
  if constexpr (requires { device.in_use(); }) return device.in_use();
  else return nullptr;
}

// The bytes that a device of so many threads allocates for its ops.
template <class D>
constexpr std::size_t scratch_of([[maybe_unused]] std::size_t threads) {
  if constexpr (requires { D::scratch_bytes(threads); }) return D::scratch_bytes(threads);
  else return 0;
}

// The queue for copies from the device to the host.
template <class D>
typename D::queue& downloads_of(D& device) {
  if constexpr (requires { device.downloads(); }) return device.downloads();
  else return device.transfers();
}

// Whether the host may read memory of this device.
template <class Device>
inline constexpr bool shares_memory = Device::queue::shares_memory;

} // namespace cairn::detail
