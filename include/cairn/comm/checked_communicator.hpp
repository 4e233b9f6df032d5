// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/comm/communicator.hpp>
#include <cairn/device/cpu.hpp>

namespace cairn::detail {

template <class C, class Queue, class T>
concept takes_spans_of = requires(C& c, Queue& queue, std::span<T> span) { c.all_reduce(queue, span); };
template <class C, class Queue>
concept takes_bytes = requires(C& c, Queue& queue, std::span<std::byte> bytes) { c.broadcast(queue, bytes, 0); };

// Whether C sums in the host's memory while the queue's device has memory of its own. Spans then go through the host
// (comm/through_host.hpp).
template <class C, class Queue>
constexpr bool adds_up_on_host() {
  if constexpr (queue_shares_memory<Queue> || takes_spans_of<C, Queue, float>) return false;
  else return takes_spans_of<C, cpu::queue, float>;
}

// The number of requirements that hold, in their order. Whether a call can be made is checked before the type that it returns.
template <class C, class Queue>
constexpr int communicator_steps() {
  if constexpr (!names_itself<C>) return 0;
  else if constexpr (!knows_its_rank<C>) return 1;
  else if constexpr (adds_up_on_host<C, Queue>()) {
    constexpr int there = communicator_steps<C, cpu::queue>();
    return there == 6 && !exchanges_bytes<C> ? 5 : there;
  } else if constexpr (!takes_spans_of<C, Queue, float> || !takes_spans_of<C, Queue, double>) return 2;
  else if constexpr (!takes_bytes<C, Queue>) return 3;
  else if constexpr (!communicator<C, Queue>) return 4;
  else if constexpr (!queue_shares_memory<Queue> && !exchanges_bytes<C>) return 5;
  else return 6;
}

struct communicator_message {
  template <class Checked>
  static constexpr bool right() {
    static_assert(Checked::steps != 0,
                  "ddp: this type is no communicator: expected static constexpr std::string_view name = \"...\" and, "
                  "after it, rank, size, all_reduce and broadcast; see checked_communicator<type, queue>");
    static_assert(Checked::steps != 1, "ddp: rank or size of this communicator is missing or has another signature, expected "
                                       "int rank() const and int size() const; see checked_communicator<type, queue>");
    static_assert(Checked::steps != 2,
                  "ddp: all_reduce of this communicator is missing or has another signature, expected one that can be "
                  "called as all_reduce(queue, std::span<T>) for float and for double; see "
                  "checked_communicator<type, queue>");
    static_assert(Checked::steps != 3,
                  "ddp: broadcast of this communicator is missing or has another signature, expected one that can be "
                  "called as broadcast(queue, std::span<std::byte>, int root); see "
                  "checked_communicator<type, queue>");
    static_assert(Checked::steps != 4,
                  "ddp: what all_reduce or broadcast of this communicator returns is no pending, expected a movable "
                  "type with a default constructor and void wait(queue); see "
                  "checked_communicator<type, queue>");
    static_assert(Checked::steps != 5,
                  "ddp: this communicator has no exchange, and cannot broadcast from the host's memory instead, which this "
                  "device does not share; write void exchange(std::span<const std::byte> own, std::span<std::byte> all), which "
                  "gives every rank the bytes of all; see checked_communicator<type, queue>");
    return Checked::is_right;
  }
};

// Whether C is a communicator for queues of type Queue; if not, the diagnostic (core/explain.hpp) that says what is missing.
template <class C, class Queue = queue_of_any_device>
struct checked_communicator : communicator_message {
  static constexpr int steps = communicator_steps<C, Queue>();
  static constexpr bool is_right = steps == 6;
};

} // namespace cairn::detail
