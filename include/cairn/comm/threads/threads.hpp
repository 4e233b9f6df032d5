// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/comm/call_purpose.hpp>
#include <cairn/comm/communicator.hpp>
#include <cairn/comm/exchange.hpp>
#include <cairn/comm/long_wait.hpp>
#include <cairn/comm/numbered_call.hpp>
#include <cairn/comm/threads/body_ends.hpp>
#include <cairn/comm/threads/thread_group.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

class threads;

} // namespace cairn

namespace cairn::detail {

// One rank of threads::run, and its communicator; called threads::rank. It belongs to the thread that runs its body, or to one
// that it is handed to: one thread at a time uses it and its tickets. It lives as long as its body runs. Sums are taken in the
// order of the ranks, ((rank 0 + rank 1) + rank 2) + …: their bits depend neither on timing nor on how a span was cut into calls.
class thread_rank {
public:
  static constexpr std::string_view name = "threads";

  // A ticket that an exception destroys before wait stops the calls of all ranks, so that none of them uses a span that is about
  // to be freed.
  using ticket = numbered_call<thread_rank>;

  thread_rank(const thread_rank&) = delete;
  thread_rank& operator=(const thread_rank&) = delete;

  int rank() const { return rank_; }
  int size() const { return group_.size(); }

  static constexpr std::size_t default_in_flight = 4096; // see threads::options
  // The memory of the calls of all ranks, which a run() allocates once.
  static constexpr std::size_t shared_bytes_of(std::size_t ranks) { return thread_group::bytes(ranks, default_in_flight); }
  std::size_t shared_bytes() const { return group_.bytes(); }

  // The queue is not used; it must share its memory with the host. Work put into a cpu's queue is already done, and spans are
  // summed in place. Throws rank_lost when a rank has failed, deadline_error when one is late, and input_error when
  // options::max_in_flight calls of this rank are not over.
  template <queue_shares_memory Queue>
  ticket all_reduce(Queue&, std::span<float> span) {
    return start({rank_call::kind::sum_float, 0, span.data(), span.size()});
  }
  template <queue_shares_memory Queue>
  ticket all_reduce(Queue&, std::span<double> span) {
    return start({rank_call::kind::sum_double, 0, span.data(), span.size()});
  }
  template <queue_shares_memory Queue>
  ticket broadcast(Queue&, std::span<std::byte> bytes, int root) {
    if (root < 0 || root >= size())
      throw input_error("threads: broadcast from rank " + std::to_string(root) + ", but the ranks are 0 to " +
                        std::to_string(size() - 1));
    return start({rank_call::kind::broadcast, root, bytes.data(), bytes.size()});
  }

  // For queues of every device: the bytes are in the host's memory.
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) {
    check_exchange(name, own.size(), all.size(), size());
    group_.wait(rank_,
                group_.start(rank_, {rank_call::kind::exchange, 0, all.data(), own.size(), own.data(), nullptr, purpose_}));
  }

  // Throws rank_lost when a rank has failed, deadline_error when a call of this rank is open for longer than the deadline.
  void check() { group_.check(rank_); }

  // Does nothing: no call has memory of its own.
  void reserve(std::size_t) {}

  // Makes calls possible again after one has failed. All ranks call it, and wait in it for each other. Earlier pendings are lost.
  // Throws deadline_error if a rank does not come within the deadline, rank_lost if one has returned.
  void recover() { group_.recover(rank_, purpose_); }

  // Sets the purpose of the calls from here on, which errors name; returns the previous one.
  call_purpose purpose(const call_purpose& next) { return std::exchange(purpose_, next); }

private:
  friend class cairn::threads;
  friend ticket;
  thread_rank(thread_group& group, int rank) : group_(group), rank_(rank) {}

  ticket start(rank_call asked) {
    asked.purpose = purpose_;
    return {*this, group_.start(rank_, asked)};
  }
  void wait(std::uint64_t call) { group_.wait(rank_, call); }
  bool over(std::uint64_t call) const { return group_.over(call); }
  void drop(std::uint64_t call) { group_.drop(rank_, call); }
  bool failed() const { return group_.halted(); }

  thread_group& group_;
  int rank_;
  call_purpose purpose_{};
};

static_assert(communicator<thread_rank>);

} // namespace cairn::detail

namespace cairn {

// Several ranks in one process: threads{2}.run([&](threads::rank& rank) { … }) calls the body once for each
// rank, each on a thread of its own (rank 0 on the caller's), and returns when all have returned. It can be
// run again.
class threads {
public:
  using rank = detail::thread_rank;

  struct options {
    // How long a wait for other ranks lasts at most. Time in which the process is stopped does not count.
    std::chrono::milliseconds deadline{30'000};
    // The most calls that a rank may have in flight. It bounds the memory that is allocated: about 100 bytes for each call and
    // rank.
    std::size_t max_in_flight = rank::default_in_flight;
    // The deadline where one rank rightly works alone while others wait for it: when rank 0 reads or writes a state, and in the
    // first call of a trainer, before which a rank may read its data. After `deadline` a line on stderr reports the wait.
    std::chrono::milliseconds long_deadline{600'000};
    // How long run() waits for the other bodies after that of rank 0 has ended: they may save or evaluate. After `deadline` a
    // line on stderr names those that have not ended. After this one std::abort ends the process, as a thread cannot be ended
    // from outside, and what its body uses must not be destroyed.
    std::chrono::milliseconds end_deadline{24 * 3'600'000};
  };

  explicit threads(int ranks) : threads(ranks, options{}) {}
  threads(int ranks, options chosen) : ranks_(ranks), options_(chosen) {
    if (ranks < 1 || ranks > most_ranks)
      throw input_error("threads: the number of ranks is " + std::to_string(ranks) + ", but must be 1 to " +
                        std::to_string(most_ranks) + ", as each is a thread and has another one that works for all");
    if (chosen.max_in_flight < 1) throw input_error("threads: max_in_flight is 0, but must be 1 or more");
    // A year: longer than any wait, and no overflow.
    for (std::chrono::milliseconds* one : {&options_.deadline, &options_.long_deadline, &options_.end_deadline}) {
      if (one->count() < 1)
        throw input_error("threads: the deadline must be 1 ms or more, as must the long one and that of the end");
      *one = std::min<std::chrono::milliseconds>(*one, std::chrono::hours(24 * 365));
    }
  }

  static constexpr int most_ranks = 1024;

  int size() const { return ranks_; }

  // When a body throws, waits on all other ranks throw rank_lost with its text. When all have returned, run throws rank_lost with
  // the number of the rank that threw first, and its text; its exception is nested in it. A body that does not return is waited
  // for until options::end_deadline.
  template <std::invocable<rank&> Body>
  void run(Body&& body) const {
    detail::thread_group group(ranks_, options_.deadline, options_.max_in_flight, options_.long_deadline);
    detail::body_ends ends(ranks_);
    const auto run_rank = [&](int number) {
      rank self(group, number);
      try {
        body(self);
        group.leave(number);
      } catch (const std::exception& thrown) {
        group.threw(number, std::current_exception(), thrown.what());
      } catch (...) {
        group.threw(number, std::current_exception(), detail::first_failure::no_exception);
      }
      ends.mark(number);
    };
    std::vector<std::thread> others;
    others.reserve(static_cast<std::size_t>(ranks_));
    try {
      for (int number = 1; number < ranks_; ++number) others.emplace_back(run_rank, number);
      run_rank(0);
    } catch (const std::exception& thrown) { // no more threads can be started
      const int missing = static_cast<int>(others.size()) + 1;
      group.threw(missing, std::current_exception(), thrown.what());
      for (int number = missing; number < ranks_; ++number) ends.mark(number);
      ends.mark(0);
    }
    wait_for_bodies(ends, group);
    for (std::thread& other : others) other.join();
    group.rethrow_first();
  }

private:
  void wait_for_bodies(detail::body_ends& ends, detail::thread_group& group) const {
    const auto why = [&] {
      const std::string failure = group.failure();
      return failure.empty() ? failure : " (" + failure + ")";
    };
    if (ends.wait(options_.deadline, options_.end_deadline, why)) return;
    std::fprintf(stderr, "threads: the body of %s has not ended within %s after that of rank 0%s; the process is ended\n",
                 ends.late().c_str(), detail::text_of(options_.end_deadline).c_str(), why().c_str());
    std::abort();
  }

  int ranks_;
  options options_;
};

} // namespace cairn
