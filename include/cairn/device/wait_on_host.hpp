// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// What the host does between two questions to a device: it asks again at once for 50 microseconds, since most waits are short,
// then it sleeps for 20 at a time, so that a long wait leaves the core to loaders and to other ranks. A queue that works only
// while it is asked says so (static constexpr bool works_while_asked), and is asked all the time.
template <class Queue>
class pause_between_questions {
public:
  void operator()() const {
    if constexpr (!requires { Queue::works_while_asked; })
      if (std::chrono::steady_clock::now() - begun_ > std::chrono::microseconds(50))
        return std::this_thread::sleep_for(std::chrono::microseconds(20));
    std::this_thread::yield();
  }

private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// Returns when the event's place in its queue has been reached. This is the only wait for a device. It throws deadline_error
// after `deadline`, and whatever check() throws, which tests whether the ranks that the device may wait for are still there.
template <class Queue, class Event, class Check>
void wait_on_host(Queue& queue, const Event& event, std::chrono::milliseconds deadline, const Check& check) {
  if (queue.reached(event)) return;
  running_deadline<std::chrono::steady_clock> give_up(deadline);
  const pause_between_questions<Queue> pause;
  while (!queue.reached(event)) {
    check();
    if (give_up.is_over())
      throw deadline_error("device: expected its work to be done within " + std::to_string(deadline.count()) +
                           " ms, found it still going on; give the trainer a longer deadline if steps are that long");
    pause();
  }
}

// The deadline of waits that have no other.
inline constexpr std::chrono::milliseconds longest_wait{600'000};

// Returns when all work put on the queue is done.
template <class Queue>
void finish_on_host(Queue& queue) {
  wait_on_host(queue, queue.record(), longest_wait, [] {});
}

} // namespace cairn::detail
