// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include <cairn/comm/communicator.hpp>

namespace cairn::detail {

template <class C, class Queue, class T>
concept takes_spans_of = requires(C& c, Queue& queue, std::span<T> span) { c.all_reduce(queue, span); };
template <class C, class Queue>
concept takes_bytes = requires(C& c, Queue& queue, std::span<std::byte> bytes) { c.broadcast(queue, bytes, 0); };

// How many of the requirements hold, one after another. What a call returns is looked at after whether it can be made.
template <class C, class Queue>
constexpr int communicator_steps() {
  if (!names_itself<C>) return 0;
  if (!knows_its_rank<C>) return 1;
  if (!takes_spans_of<C, Queue, float> || !takes_spans_of<C, Queue, double>) return 2;
  if (!takes_bytes<C, Queue>) return 3;
  if (!communicator<C, Queue>) return 4;
  return 5;
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
    return Checked::steps == 5;
  }
};

// A communicator for queues of type Queue, as the diagnostic of an error (core/explain.hpp) if it is none.
template <class C, class Queue = queue_of_any_device>
struct checked_communicator : communicator_message {
  static constexpr int steps = communicator_steps<C, Queue>();
};

} // namespace cairn::detail
