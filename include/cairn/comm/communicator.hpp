// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <cairn/core/config.hpp>

namespace cairn {

namespace detail {

// Stands for the queue of any device where the concepts below have to name one.
struct queue_of_any_device {
  static constexpr bool shares_memory = true;
};

// Whether the host may read and write what lies on the device of this queue. A queue that does not say so is one of the host.
template <class Queue>
concept queue_shares_memory = !requires { Queue::shares_memory; } || requires { requires Queue::shares_memory; };

} // namespace detail

// A pending is one call of a communicator that has been started and is not over yet.
//
// A type P is a pending, for queues of type Queue, if
//   1. p.wait(queue) makes what is put into the queue afterwards see the result. On a device whose work is done
//      when a function returns, wait blocks the calling thread until the call is over. On a device whose work is done
//      later, it puts a wait on the queue and may come back before the result is there;
//   2. p.wait(queue) throws an error if the call failed, and deadline_error if it was not over after the communicator's deadline.
//      Either way, the span is the caller's again. Where wait comes back early, it throws what is known by then; what fails
//      later is told by the communicator's check(), and the span belongs to what the queue holds until the queue is done;
//   3. it is made empty by default, by being moved from, and by wait; wait on an empty pending returns at once;
//   4. the destructor of one that is not empty has found a mistake of its owner: it stops the program in a debug
//      build (not while an exception passes through). It performs no collective, and waits for no other rank.
//
// It may have bool over() const: whether wait would return at once. Traces are finer with it.
//
// Not required: that it can be waited for on another thread than the one that started the call, that it can be copied.
// It must not outlive its span or its communicator.
template <class P, class Queue = detail::queue_of_any_device>
concept pending = std::movable<P> && std::default_initializable<P> && requires(P& p, Queue& queue) { p.wait(queue); };

namespace detail {

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

// What a communicator may have.
template <class C>
concept exchanges_bytes = requires(C& c, std::span<const std::byte> own, std::span<std::byte> all) { c.exchange(own, all); };
template <class C>
concept checks_calls = requires(C& c) { c.check(); };
template <class C>
concept reserves_bytes = requires(C& c, std::size_t bytes) { c.reserve(bytes); };

} // namespace detail

// A communicator joins the ranks of one training job. Each rank has an object of its own.
//
// A type C is a communicator, for queues of type Queue, if
//   1. c.rank() is this rank's number, 0 … c.size() - 1, and neither ever changes; C::name is what people call it;
//   2. c.all_reduce(queue, span) replaces, on every rank, span[i] by the sum over all ranks of their span[i]; the
//      result has the same bits on every rank. c.broadcast(queue, bytes, root) replaces the bytes by those of `root`;
//   3. a call reads its span after all that has been put into the queue before it, and returns without waiting for
//      that or for other ranks. It returns a pending; the span belongs to the communicator until pending.wait(queue);
//   4. with size() == 1 every call is the identity;
//   5. when a rank fails, leaves or is late, a wait on every other rank throws within the deadline, and says why; on a device
//      whose work is done later check() does.
//
// It may rely on this: all ranks make the same calls in the same order, with equal sizes, element types and roots; and
// one thread at a time calls it. ddp sees to that.
//
// It may have
//   * void exchange(std::span<const std::byte> own, std::span<std::byte> all): gives every rank the bytes of every rank, in
//     the host's memory. Those of rank r become all[r * own.size()] and what follows; `all` has size() times as many as
//     `own`, which lies outside it. It comes back when they are there, and throws what a wait would throw, within the
//     deadline. All ranks call it, with equally many bytes. It is for a few bytes, before training or between steps.
//     Without it each rank broadcasts its own, which takes a device whose memory the host shares (Queue::shares_memory);
//   * void check(): throws what a wait would throw if a call has failed, or has been open for longer than the deadline. It
//     waits for nothing. Whoever waits for a queue on the host calls it again and again;
//   * void reserve(std::size_t bytes): no all_reduce of a step will have more bytes than these. A trainer's constructor
//     calls it once, before the first step, so that a communicator with memory of its own allocates none later;
//   * lent_memory allocate(std::size_t bytes) (comm/lent_memory.hpp): memory of this rank in which spans of all_reduce may lie
//     and then need not be copied, or nothing. All ranks call it, with equally many bytes; a trainer's constructor does, for
//     the gradients;
//   * call_purpose purpose(const call_purpose&) (comm/call_purpose.hpp): learns the work that the calls from here on are made
//     for, which its errors may name, and whether a rank may rightly be late in them; returns the purpose before;
//   * void recover(), which all ranks call after a failure and in which they meet: then calls are served again. What was
//     started before is lost;
//   * int local_size() const: how many of its ranks, this one included, run on this rank's machine and share its cores;
//     without it they all do;
//   * int local_rank() const: this rank's number among those; without it the ranks of a machine are taken to follow each other;
//   * std::string_view called() const: what people call it, where its type stands for several (any_rank.hpp) [name].
//
// What makes ranks has run(body), which calls the body with each rank's communicator, a `rank` of it: loopback{}.run,
// threads{2}.run and mpi{}.run take the same body, with loopback::rank or mpi::rank in place of threads::rank. What any_rank.hpp
// has stands for all of them, in a body that is compiled once.
//
// Not required: averaging (ddp divides); an order in which pendings are over; an order of summation (a communicator that
// has a fixed one says so); service after a failure.
template <class C, class Queue = detail::queue_of_any_device>
concept communicator = detail::names_itself<C> && detail::knows_its_rank<C> && detail::sums_spans_of<C, Queue, float> &&
                       detail::sums_spans_of<C, Queue, double> && detail::broadcasts_bytes<C, Queue>;

namespace detail {

// This rank's number among those of its machine. Without local_rank() the ranks of a machine are taken to follow each other.
template <class C>
int place_here(const C& comm) {
  if constexpr (requires { int{comm.local_rank()}; }) return comm.local_rank();
  else if constexpr (knows_its_machine<C>) return comm.rank() % static_cast<int>(comm.local_size());
  else return comm.rank();
}

// What people call it.
template <class C>
std::string_view name_of_communicator([[maybe_unused]] const C& comm) {
  if constexpr (requires { std::string_view{comm.called()}; }) return comm.called();
  else return C::name;
}

// How many ranks share this rank's machine.
template <class C>
std::size_t ranks_here(const C& comm) {
  if constexpr (knows_its_machine<C>) return static_cast<std::size_t>(comm.local_size());
  else return static_cast<std::size_t>(comm.size());
}

} // namespace detail

// What C's all_reduce of a span of T returns: to keep one for each bucket.
template <class C, class T, class Queue = detail::queue_of_any_device>
using pending_of = decltype(std::declval<C&>().all_reduce(std::declval<Queue&>(), std::declval<std::span<T>>()));

} // namespace cairn
