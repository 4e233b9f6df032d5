// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/comm/communicator.hpp>
#include <cairn/plan/buckets.hpp>

namespace cairn {

// The gradients of one step on their way to the other ranks. A bucket is a span of the flat gradient buffer: nothing is
// copied into it or out of it. Buckets leave in order, each as soon as the gradients below its end are complete, and
// are waited for one by one. `Most` is the most buckets there can be.
template <class Communicator, class T, class Queue, std::size_t Most>
class reduction {
public:
  // Both stay with the caller. The gradients must be where they are for as long as a bucket is on its way.
  reduction(std::span<const bucket> buckets, T* gradients) : buckets_(buckets), gradients_(gradients) {}

  // A new step: nothing has left yet.
  void begin() { next_ = 0; }

  // The gradients below `end` are complete: every bucket that lies below it and has not left, leaves.
  void send(Communicator& comm, Queue& queue, std::size_t end) {
    for (; next_ < buckets_.size() && buckets_[next_].end <= end; ++next_)
      pending_[next_] =
          comm.all_reduce(queue, std::span<T>{gradients_ + buckets_[next_].begin, buckets_[next_].size()});
  }

  // What is put into the queue afterwards sees the sums of bucket b over all ranks.
  void wait(Queue& queue, std::size_t b) { pending_[b].wait(queue); }

private:
  std::span<const bucket> buckets_;
  T* gradients_;
  std::size_t next_ = 0;
  std::array<pending_of<Communicator, T, Queue>, Most> pending_{};
};

} // namespace cairn
