// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <cairn/comm/communicator.hpp>
#include <cairn/plan/buckets.hpp>

namespace cairn::detail {

// The gradients of one step on their way to the other ranks. A bucket is reduced where backward wrote it: nothing is
// copied into it or out of it. Buckets leave in order, each as soon as the gradients below its end are complete, and
// are waited for one by one. `Most` is the most buckets there can be.
template <class Communicator, class T, class Queue, std::size_t Most>
class reduction {
public:
  // All three stay with the caller. Bucket b lies at memory + places[b], and must for as long as it is on its way.
  reduction(std::span<const bucket> buckets, std::span<const std::size_t> places, T* memory)
      : buckets_(buckets), places_(places), memory_(memory) {}

  std::span<T> span_of(std::size_t b) const { return {memory_ + places_[b], buckets_[b].size()}; }

  // A new step: nothing has left yet.
  void begin() { next_ = 0; }

  // The gradients below `end` are complete: every bucket that lies below it and has not left, leaves.
  void send(Communicator& comm, Queue& queue, std::size_t end) {
    for (; next_ < buckets_.size() && buckets_[next_].end <= end; ++next_)
      pending_[next_] = comm.all_reduce(queue, span_of(next_));
  }
  // So many have left in this step.
  std::size_t left() const { return next_; }

  // What is put into the queue afterwards sees the sums of bucket b over all ranks.
  void wait(Queue& queue, std::size_t b) { pending_[b].wait(queue); }

private:
  std::span<const bucket> buckets_;
  std::span<const std::size_t> places_;
  T* memory_;
  std::size_t next_ = 0;
  std::array<pending_of<Communicator, T, Queue>, Most> pending_{};
};

} // namespace cairn::detail
