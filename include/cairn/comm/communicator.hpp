// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The queue that the concepts below name: it represents the queue of any device, and no op runs on it.
struct queue_of_any_device {
  static constexpr bool shares_memory = true;
};

// Whether the host may read and write the memory of this queue's device. A queue without the member shares_memory is taken to be
// the host's.
template <class Queue>
concept queue_shares_memory = !requires { Queue::shares_memory; } || requires { requires Queue::shares_memory; };

// A pending is one call of a communicator that has been started and is not over yet.
//
// A type P is a pending, for queues of type Queue, if
//   1. work that is put into the queue after p.wait(queue) sees the result. On a synchronous device, whose work is done when a
//      function returns, wait blocks the calling thread until the call is over. On an asynchronous device, it puts a wait on the
//      queue and may return before the result is there;
//   2. p.wait(queue) throws an error if the call failed, and deadline_error if it was not over after the communicator's deadline.
//      Either way, the span is the caller's again. A wait that returns early throws what is known by then: the communicator's
//      check() reports later failures, and the span belongs to the work in the queue until the queue is done;
//   3. it is empty when it was default-constructed, moved from or waited for; wait on an empty pending returns at once;
//   4. destroying one that is not empty is a mistake of its owner: the destructor stops the program in a debug build, but not
//      while an exception passes through. It performs no collective, and waits for no other rank.
//
// Optional: bool over() const, whether wait would return at once. Traces are finer with it.
//
// Not required: waiting on another thread than the one that started the call; copying.
// It must not outlive its span or its communicator.
template <class P, class Queue = queue_of_any_device>
concept pending = std::movable<P> && std::default_initializable<P> && requires(P& p, Queue& queue) { p.wait(queue); };

template <class C>
concept names_itself = requires {
  { C::name } -> std::convertible_to<std::string_view>;
};
template <class C>
concept knows_its_rank = requires(const C& c) {
  { c.rank() } -> std::same_as<int>;
  { c.size() } -> std::same_as<int>;
};
template <class C>
concept knows_its_machine = requires(const C& c) {
  { c.local_size() } -> std::convertible_to<int>;
};
template <class C, class Queue, class T>
concept sums_spans_of = requires(C& c, Queue& queue, std::span<T> span) {
  { c.all_reduce(queue, span) } -> pending<Queue>;
};
template <class C, class Queue>
concept broadcasts_bytes = requires(C& c, Queue& queue, std::span<std::byte> bytes) {
  { c.broadcast(queue, bytes, 0) } -> pending<Queue>;
};

// Optional members of a communicator.
template <class C>
concept exchanges_bytes = requires(C& c, std::span<const std::byte> own, std::span<std::byte> all) { c.exchange(own, all); };
template <class C>
concept checks_calls = requires(C& c) { c.check(); };
template <class C>
concept reserves_bytes = requires(C& c, std::size_t bytes) { c.reserve(bytes); };

} // namespace cairn::detail

namespace cairn {

// A communicator joins the ranks of one training job. Each rank has an object of its own.
//
// A type C is a communicator, for queues of type Queue, if
//   1. c.rank() is this rank's number, 0 … c.size() - 1, and neither ever changes; C::name is its name in error texts;
//   2. c.all_reduce(queue, span) replaces, on every rank, span[i] by the sum over all ranks of their span[i]; the
//      result has the same bits on every rank. c.broadcast(queue, bytes, root) replaces the bytes by those of `root`;
//   3. a call reads its span after all work that was put into the queue before it, and returns without waiting for
//      that work or for other ranks. It returns a pending; the span belongs to the communicator until pending.wait(queue);
//   4. with size() == 1 every call is the identity;
//   5. when a rank fails, leaves or is late, a wait on every other rank throws within the deadline, and says why; on an
//      asynchronous device check() does.
//
// It may assume that all ranks make the same calls in the same order, with equal sizes, element types and roots, and that one
// thread at a time calls it. ddp ensures both.
//
// Optional members:
//   * void exchange(std::span<const std::byte> own, std::span<std::byte> all): gives every rank the bytes of every rank, in
//     the host's memory. Those of rank r are written to `all` from index r * own.size() on; `all` has size() times as many
//     bytes as `own`, and does not overlap it. It returns when they are there, and throws what a wait would throw, within the
//     deadline. All ranks call it, with equally many bytes. It is for a few bytes, before training or between steps.
//     Without it each rank broadcasts its own, which needs a device whose memory the host shares (Queue::shares_memory);
//   * void check(): throws what a wait would throw if a call has failed, or has been open for longer than the deadline. It
//     does not wait. Code that waits on the host for a queue calls it again and again;
//   * void reserve(std::size_t bytes): announces the most bytes that an all_reduce of a step will have. A trainer's constructor
//     calls it once, before the first step, so that a communicator with memory of its own allocates none later;
//   * lent_memory allocate(std::size_t bytes) (comm/lent_memory.hpp): returns memory of this rank, or none. Spans of all_reduce
//     that lie in it need not be copied. All ranks call it, with equally many bytes; a trainer's constructor does, for the
//     gradients;
//   * call_purpose purpose(const call_purpose&) (comm/call_purpose.hpp): sets the purpose of the calls from here on, which says
//     what work they are for, so that errors can name it, and whether a rank may rightly be late in them; returns the previous
//     purpose;
//   * void recover(): all ranks call it after a failure, and wait in it for each other. Then calls are served again; those
//     started before are lost;
//   * int local_size() const: the number of ranks, this one included, that run on this rank's machine and share its cores;
//     without it they all do;
//   * int local_rank() const: this rank's number among those; without it the ranks of a machine are taken to be consecutive;
//   * static constexpr std::size_t shared_bytes_of(std::size_t ranks): the bytes of the host's memory that it allocates once for
//     all ranks of a machine, and std::size_t shared_bytes() const: those that it has allocated [none];
//   * std::string_view called() const: its name in error texts, if one type represents several (launch/chosen_ranks.hpp) [name].
//
// Types that make ranks have run(body), which calls the body with each rank's communicator: loopback{}.run, threads{2}.run and
// mpi{}.run take the same body, with loopback::rank, threads::rank or mpi::rank as its argument. In a body that is compiled once,
// any_rank (launch/chosen_ranks.hpp) replaces all of them.
//
// Not required: averaging (ddp divides); an order in which pendings are over; a fixed order of summation (a communicator that
// has one says so); service after a failure.
template <class C, class Queue = detail::queue_of_any_device>
concept communicator = detail::names_itself<C> && detail::knows_its_rank<C> && detail::sums_spans_of<C, Queue, float> &&
                       detail::sums_spans_of<C, Queue, double> && detail::broadcasts_bytes<C, Queue>;

} // namespace cairn

namespace cairn::detail {

// This rank's number among those of its machine. Without local_rank() the ranks of a machine are taken to be consecutive.
template <class C>
int place_here(const C& comm) {
  if constexpr (requires { int{comm.local_rank()}; }) return comm.local_rank();
  else if constexpr (knows_its_machine<C>) return comm.rank() % static_cast<int>(comm.local_size());
  else return comm.rank();
}

// The communicator's name in error texts.
template <class C>
std::string_view name_of_communicator([[maybe_unused]] const C& comm) {
  if constexpr (requires { std::string_view{comm.called()}; }) return comm.called();
  else return C::name;
}

// The number of ranks on this rank's machine.
template <class C>
std::size_t ranks_here(const C& comm) {
  if constexpr (knows_its_machine<C>) return static_cast<std::size_t>(comm.local_size());
  else return static_cast<std::size_t>(comm.size());
}

// The bytes that the ranks of a machine share: of communicators of a type, and of this one.
template <class C>
constexpr std::size_t shared_bytes_of([[maybe_unused]] std::size_t ranks) {
  if constexpr (requires { C::shared_bytes_of(ranks); }) return C::shared_bytes_of(ranks);
  else return 0;
}
template <class C>
std::size_t shared_bytes([[maybe_unused]] const C& comm) {
  if constexpr (requires { comm.shared_bytes(); }) return comm.shared_bytes();
  else return 0;
}

// The pending that C's all_reduce returns for a span of T; callers keep one for each bucket.
template <class C, class T, class Queue = queue_of_any_device>
using pending_of = decltype(std::declval<C&>().all_reduce(std::declval<Queue&>(), std::declval<std::span<T>>()));

} // namespace cairn::detail
