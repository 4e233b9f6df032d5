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

// Rethrows the exception that is being handled, with `name` in front of its text.
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

// The all-reduce of the gradients of one step. A bucket is reduced in place, where backward wrote it, without copies. Buckets are
// sent in order, each when the list of the step says so (plan/step/). The facts of the step are sent with the first one, in the
// same call if they lie just before it in memory. `Most` is the largest number of buckets.
template <class Communicator, class T, class Queue, std::size_t Most>
class reduction {
public:
  // The caller keeps all of these. Bucket b lies at memory + places[b], and must stay there while it is in flight. The facts are
  // those of all ranks; none if there is only one.
  reduction(std::span<const bucket> buckets, std::span<const std::size_t> places, T* memory, std::span<T> facts = {})
      : buckets_(buckets), places_(places), memory_(memory), facts_(facts) {}

  std::span<T> span_of(std::size_t b) const { return {memory_ + places_[b], buckets_[b].size()}; }

  // The most bytes in one call.
  std::size_t most_bytes() const {
    std::size_t most = 0;
    for (const bucket& b : buckets_) most = std::max(most, b.size());
    return (facts_.size() + most) * sizeof(T);
  }

  // Begins a step, of which nothing has been sent yet. The op that writes the facts is already on the queue.
  void begin(Communicator& comm, Queue& queue) {
    next_ = 0;
    if (!compares() || go_together()) return;
    static_cast<void>(facts_pending_ = comm.all_reduce(queue, facts_)); // nvcc: a result is ignored
  }

  // Sends the next bucket, whose gradients are complete.
  void send_next(Communicator& comm, Queue& queue) {
    std::span<T> sent = span_of(next_);
    if (next_ == 0 && go_together()) sent = {facts_.data(), facts_.size() + sent.size()};
    naming(next_, [&] { static_cast<void>(pending_[next_] = comm.all_reduce(queue, sent)); });
    ++next_;
  }
  // The number of buckets sent in this step.
  std::size_t left() const { return next_; }

  // Ops that are put on the queue afterwards see the sums of bucket b over all ranks.
  void wait(Queue& queue, std::size_t b) {
    naming(b, [&] { pending_[b].wait(queue); });
  }
  // Whether bucket b has been reduced already; always false with a communicator that cannot report it.
  bool is_back(std::size_t b) const {
    if constexpr (requires(const pending_type& p) { p.over(); }) return pending_[b].over();
    else return false;
  }

  // Ops that are put on the queue afterwards see the facts of all ranks. Call it only after the first bucket has been sent.
  void wait_for_facts(Queue& queue) {
    if (go_together()) wait(queue, 0);
    else facts_pending_.wait(queue);
  }
  std::span<T> facts() const { return facts_; }
  // Whether there are facts to compare; false with one rank or without gradients.
  bool compares() const { return !facts_.empty() && !buckets_.empty(); }

  // Abandons the calls in flight after an exception.
  void abandon() {
    for (auto& p : pending_) static_cast<void>(pending_type(std::move(p)));
    static_cast<void>(pending_type(std::move(facts_pending_)));
    next_ = 0;
  }

private:
  using pending_type = pending_of<Communicator, T, Queue>;

  // Makes a call for bucket b. Its errors name the bucket.
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
