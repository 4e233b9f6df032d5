// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <cairn/comm/communicator.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/buckets.hpp>

namespace cairn::detail {

// Throws the exception that is being handled again, with a text that begins with what it was about.
[[noreturn]] inline void throw_with_name(const std::string& name) {
  try {
    throw;
  } catch (const rank_lost& thrown) {
    throw rank_lost(name + thrown.what());
  } catch (const deadline_error& thrown) {
    throw deadline_error(name + thrown.what());
  } catch (const input_error& thrown) {
    throw input_error(name + thrown.what());
  }
}

// The gradients of one step on their way to the other ranks. A bucket is reduced where backward wrote it: nothing is
// copied into it or out of it. Buckets leave in order, each when the list of the step says so (plan/step/). With the
// first one go the facts of the step, in the same call where they lie just before it. `Most` is the most buckets there can
// be.
template <class Communicator, class T, class Queue, std::size_t Most>
class reduction {
public:
  // All of these stay with the caller. Bucket b lies at memory + places[b], and must for as long as it is on its way. The
  // facts are those of all ranks; none if there is only one.
  reduction(std::span<const bucket> buckets, std::span<const std::size_t> places, T* memory, std::span<T> facts = {})
      : buckets_(buckets), places_(places), memory_(memory), facts_(facts) {}

  std::span<T> span_of(std::size_t b) const { return {memory_ + places_[b], buckets_[b].size()}; }

  // The most bytes that leave in one call.
  std::size_t most_bytes() const {
    std::size_t most = 0;
    for (const bucket& b : buckets_) most = std::max(most, b.size());
    return (facts_.size() + most) * sizeof(T);
  }

  // A new step: nothing has left yet. The queue has been given what writes the facts.
  void begin(Communicator& comm, Queue& queue) {
    next_ = 0;
    if (!compares() || go_together()) return;
    static_cast<void>(facts_pending_ = comm.all_reduce(queue, facts_)); // nvcc: a result is ignored
  }

  // The gradients of the next bucket are complete, and it leaves.
  void send_next(Communicator& comm, Queue& queue) {
    std::span<T> sent = span_of(next_);
    if (next_ == 0 && go_together()) sent = {facts_.data(), facts_.size() + sent.size()};
    naming(next_, [&] { static_cast<void>(pending_[next_] = comm.all_reduce(queue, sent)); });
    ++next_;
  }
  // So many have left in this step.
  std::size_t left() const { return next_; }

  // What is put into the queue afterwards sees the sums of bucket b over all ranks.
  void wait(Queue& queue, std::size_t b) {
    naming(b, [&] { pending_[b].wait(queue); });
  }
  // Whether bucket b is back already, of a communicator that can tell; of another one it is never known.
  bool is_back(std::size_t b) const {
    if constexpr (requires(const pending_type& p) { p.over(); }) return pending_[b].over();
    else return false;
  }

  // What is put into the queue afterwards sees the facts of all ranks. Only after the first bucket has left.
  void wait_for_facts(Queue& queue) {
    if (go_together()) wait(queue, 0);
    else facts_pending_.wait(queue);
  }
  std::span<T> facts() const { return facts_; }
  // Whether there are facts to compare: not of one rank, and not without gradients.
  bool compares() const { return !facts_.empty() && !buckets_.empty(); }

  // Gives up what is on its way, while an exception passes.
  void abandon() {
    for (auto& p : pending_) static_cast<void>(pending_type(std::move(p)));
    static_cast<void>(pending_type(std::move(facts_pending_)));
    next_ = 0;
  }

private:
  using pending_type = pending_of<Communicator, T, Queue>;

  // A call for bucket b: what fails says which bucket it was.
  template <class Call>
  void naming(std::size_t b, const Call& call) const {
    try {
      call();
    } catch (...) {
      throw_with_name("bucket " + std::to_string(b + 1) + " of " + std::to_string(buckets_.size()) + ": ");
    }
  }
  bool go_together() const { return compares() && facts_.data() + facts_.size() == memory_ + places_[0]; }

  std::span<const bucket> buckets_;
  std::span<const std::size_t> places_;
  T* memory_;
  std::span<T> facts_;
  std::size_t next_ = 0;
  std::array<pending_type, Most> pending_{};
  pending_type facts_pending_{};
};

} // namespace cairn::detail
