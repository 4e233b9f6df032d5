// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <semaphore.h>

#include <cairn/comm/first_failure.hpp>
#include <cairn/comm/mpi/bell.hpp>
#include <cairn/comm/rank_call.hpp>
#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// Options for serving the calls of a rank.
struct message_options {
  std::chrono::milliseconds deadline{30'000};
  std::size_t max_in_flight = 4096;
  bool in_any_order = false;
  std::chrono::milliseconds long_deadline{600'000};       // where a rank works alone, and at the beginning; at least `deadline`
  std::chrono::milliseconds end_deadline{24 * 3'600'000}; // for the ends of the other bodies; at least `deadline`
  std::string told_place{};                               // "rank 2 of 4", if a launcher says so before the job has begun
  std::function<std::string()> missing{};                 // before the job has begun: names the processes known to be missing
};

// The outcome of a run on all ranks.
struct run_outcome {
  std::string late;               // the ranks whose body has not ended, empty if all have
  int first_to_throw = -1;        // the lowest rank whose exception no other rank caused, or else the lowest that threw
  bool this_rank_follows = false; // another rank's failure caused its own exception
  bool is_end_late = false;       // nothing failed, but the bodies of `late` have not ended within options::end_deadline
};

// The state that a rank's own thread and its communication thread share: the calls, the first failure, and what either asks of
// the other. It has an interface for each of the two. The class itself is that of the rank's thread, which starts calls and waits
// for them; thread_face is that of the communication thread.
class progress_engine {
public:
  using clock = std::chrono::steady_clock;
  using fault_kind = detail::fault_kind;
  // This process's place in the job.
  struct place {
    std::string name{};
    int rank = 0, size = 1, local_rank = 0, local_size = 1;
  };

  progress_engine(const message_options& options, std::string name)
      : options_(options), here_{.name = std::move(name)}, entries_(std::make_unique<entry[]>(options.max_in_flight)) {
    if (::sem_init(&bell_, 0, 0) != 0) throw error("cairn: sem_init failed");
  }
  progress_engine(const progress_engine&) = delete;
  progress_engine& operator=(const progress_engine&) = delete;
  ~progress_engine() { ::sem_destroy(&bell_); }

  const message_options& options() const { return options_; }
  const place& here() const { return here_; }
  std::string whose() const { return here_.name + ": rank " + std::to_string(here_.rank) + " of " + std::to_string(here_.size); }
  running_deadline<clock> deadline() const { return running_deadline<clock>(options_.deadline); }
  // How long a wait for this call lasts at most; longer for one in which a rank may rightly be late.
  std::chrono::milliseconds limit_of(std::uint64_t call) const {
    return entry_of(call).asked.purpose.may_take_long ? std::max(options_.deadline, options_.long_deadline) : options_.deadline;
  }
  bool failed() const { return failed_.load(); }
  bool over(std::uint64_t call) const { return entry_of(call).over.load() > call; }

  // Starts this rank's next call and returns its number, from 0. Texts count calls from 1.
  std::uint64_t start(const rank_call& asked) {
    const std::uint64_t call = started_.load();
    if (failed()) throw_reason(prefix(call, asked) + "it cannot start, because ");
    if (call >= options_.max_in_flight && !over(call - options_.max_in_flight))
      throw input_error(prefix(call, asked) + "it cannot start, because " + std::to_string(options_.max_in_flight) +
                        " calls are in flight; wait for some of them first, or raise options::max_in_flight");
    entry& own = entry_of(call);
    own.asked = asked;
    own.started_at = clock::now();
    if (here_.size == 1) {
      if (asked.what == rank_call::kind::exchange && asked.count > 0) std::memcpy(asked.data, asked.own, asked.count);
      own.over.store(call + 1);
    }
    started_.store(call + 1);
    if (here_.size > 1 && asleep_.exchange(false)) ring();
    return call;
  }

  // Returns when the call is over; throws on failure or after the deadline.
  void wait(std::uint64_t call) {
    if (!over(call) && !await(call)) throw_reason(prefix(call, entry_of(call).asked) + "it was not done, because ");
  }
  // Gives the memory of a call back to its owner before wait(), while an exception passes. Other ranks may still need its
  // contents: this returns when the call is over or abandoned, after the deadline at the latest.
  void drop(std::uint64_t call) noexcept {
    if (!over(call)) static_cast<void>(await(call));
  }

  // Throws if a call has failed, or is still open after its deadline. It does not wait: the communication thread finds out what
  // is late, and a later check() throws it.
  void check() {
    while (oldest_open_ < started_.load() && over(oldest_open_)) ++oldest_open_;
    if (oldest_open_ < started_.load()) {
      const std::chrono::milliseconds limit = limit_of(oldest_open_);
      if (watched_ != oldest_open_ + 1) watch_ = running_deadline<clock>(limit, entry_of(oldest_open_).started_at, limit / 2);
      watched_ = oldest_open_ + 1;
      if (watch_.is_over()) {
        is_late_.store(true);
        ring();
      }
    }
    if (failed()) throw_reason(whose() + ": it cannot go on, because ");
  }

  // Allocates the memory for calls of at most this many bytes.
  void reserve(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    if (here_.size == 1 || bytes <= asks_.reserved) return;
    asks_.memory = std::max(asks_.memory, bytes);
    ring();
    if (auto give_up = deadline(); !wait_within(give_up, told_rank_, lock, [&] { return asks_.reserved >= bytes || failed(); }))
      throw deadline_error(whose() + ": reserve: expected all calls of this rank to be over, found open ones");
  }

  // Called when this rank's body has ended; `threw` is the text of its exception, or null. Returns when all other bodies have
  // ended, after options::end_deadline at the latest; if something has failed, after a while.
  run_outcome leave(const std::string* threw) {
    std::unique_lock lock(mutex_);
    asks_.leaving = leaver{started_.load(), threw != nullptr, threw != nullptr && failed() && kind_ == fault_kind::lost,
                           threw != nullptr ? *threw : std::string()};
    ring();
    if (!await_thread(lock, [&] { return !asks_.leaving || has_ended_; })) {
      lock.unlock();
      abort(whose() + ": " + stuck_text);
    }
    return asks_.outcome;
  }

  // Asks the communication thread to end all processes of the job.
  [[noreturn]] void abort(const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      asks_.abort = text;
    }
    ring();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::fprintf(stderr, "%s\n", text.c_str());
    std::_Exit(1);
  }

  // Called by both threads. The first failure wins.
  void fail(fault_kind kind, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (failed()) return;
    failure_ = text;
    kind_ = kind;
    failed_.store(true);
  }
  std::string prefix(std::uint64_t call, const rank_call& asked) const {
    return whose() + ", call " + std::to_string(call + 1) + ", " + asked.text() + ": ";
  }
  [[noreturn]] void throw_reason(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (kind_ == fault_kind::late) throw deadline_error(what + failure_);
    if (kind_ == fault_kind::different) throw input_error(what + failure_);
    throw rank_lost(what + failure_);
  }

  // Called by the owner of the engine. Waits until the communication thread has begun or ended, or until that time; returns
  // whether it has.
  bool has_begun(clock::time_point until) {
    std::unique_lock lock(mutex_);
    return told_rank_.wait_until(lock, until, [&] { return is_ready_ || has_ended_; });
  }
  bool is_ready() {
    const std::lock_guard lock(mutex_);
    return is_ready_;
  }
  // Asks the communication thread to end; returns whether it does within the deadline.
  bool stop() {
    std::unique_lock lock(mutex_);
    asks_.to_stop = true;
    ring();
    auto give_up = deadline();
    return wait_within(give_up, told_rank_, lock, [&] { return has_ended_; });
  }

  // The way in which the rank's body has ended.
  struct leaver {
    std::uint64_t calls = 0;
    bool threw = false;
    bool follows = false;
    std::string text{};
  };
  // The rank's requests other than calls, and the answers.
  struct other_wishes {
    std::string abort{}; // to end all processes, with this text
    std::size_t memory = 0, reserved = 0;
    std::optional<leaver> leaving{}; // until all have left
    run_outcome outcome{};
    bool to_stop = false;
  };

  // The interface of the communication thread.
  class thread_face {
  public:
    explicit thread_face(progress_engine& of) : e_(of) {}

    const message_options& options() const { return e_.options_; }
    std::string whose() const { return e_.whose(); }
    bool failed() const { return e_.failed(); }
    void fail(fault_kind kind, const std::string& text) { e_.fail(kind, text); }

    // Reports that the thread has begun, as this process of the job; and that it ends.
    void begins_as(const place& here) {
      {
        const std::lock_guard lock(e_.mutex_);
        e_.here_ = here;
        e_.is_ready_ = true;
      }
      e_.told_rank_.notify_all();
    }
    void ends() {
      {
        const std::lock_guard lock(e_.mutex_);
        e_.is_quiet_ = e_.has_ended_ = true;
      }
      e_.told_rank_.notify_all();
    }
    // Counts a round of the thread's loop: while it does, the rank knows that the thread is not stuck.
    void comes_round() { e_.rounds_.fetch_add(1); }

    // The number of calls that the rank has started, and their arguments.
    std::uint64_t started() const { return e_.started_.load(); }
    const rank_call& asked(std::uint64_t call) const { return e_.entry_of(call).asked; }
    std::chrono::milliseconds limit_of(std::uint64_t call) const { return e_.limit_of(call); }
    bool over(std::uint64_t call) const { return e_.over(call); }
    void mark_over(std::uint64_t call) {
      e_.entry_of(call).over.store(call + 1);
      if (rank_waits_for(call)) e_.tell_rank();
    }
    // Whether the rank waits for a call, for this one among others, since when, and how long it may.
    bool rank_waits() const { return e_.waits_before_.load() != 0; }
    bool rank_waits_for(std::uint64_t call) const { return e_.waits_before_.load() > call; }
    clock::time_point rank_waits_since() const { return clock::time_point(clock::duration(e_.waits_since_.load())); }
    std::chrono::milliseconds limit_of_wait() const { return e_.limit_of(e_.waits_before_.load() - 1); }
    // Whether the rank, which does not wait, has found that a call is late.
    bool rank_finds_late() const { return e_.is_late_.load(); }

    // The first failure.
    std::pair<fault_kind, std::string> failure() {
      const std::lock_guard lock(e_.mutex_);
      return {e_.kind_, e_.failure_};
    }
    void replace_failure(fault_kind kind, const std::string& text) {
      const std::lock_guard lock(e_.mutex_);
      e_.failure_ = text;
      e_.kind_ = kind;
    }
    // Reports that no call uses its memory any more.
    void gives_memory_back() {
      {
        const std::lock_guard lock(e_.mutex_);
        e_.is_quiet_ = true;
      }
      e_.told_rank_.notify_all();
    }
    // answer(wishes, failed_as) returns whether it has answered something.
    template <class Answer>
    void answer_rank(const Answer& answer) {
      const std::lock_guard lock(e_.mutex_);
      if (answer(e_.asks_, e_.kind_)) e_.told_rank_.notify_all();
    }

    // Either this thread sees a call that was started after it said that it sleeps, or the caller of start() sees that, and
    // rings.
    void falls_asleep() { e_.asleep_.store(true); }
    void wakes() { e_.asleep_.store(false); }
    void sleep_for(std::chrono::nanoseconds time) { sleep_until_rung(e_.bell_, time); }
    void sleep_until_it_rings() {
      while (::sem_wait(&e_.bell_) != 0) continue;
    }
    sem_t& bell() { return e_.bell_; }

  private:
    progress_engine& e_;
  };

private:
  // The time for which a waiting rank spins before it sleeps: about the cost of falling asleep and waking up.
  static constexpr std::chrono::microseconds spin{20};
  // Extra time after the deadline before the rank takes the communication thread for stuck.
  static constexpr std::chrono::milliseconds patience{1000};

  static constexpr const char* stuck_text = "the communication thread does not come back from a call of its library";

  struct entry {
    rank_call asked{};
    clock::time_point started_at{};
    std::atomic<std::uint64_t> over{0}; // 1 + the number of the last call in this place that is over
  };

  entry& entry_of(std::uint64_t call) const { return entries_[call % options_.max_in_flight]; }
  void ring() { ::sem_post(&bell_); }

  // Returns true when the call is over; false when it has failed and its memory is not used any more.
  bool await(std::uint64_t call) {
    waits_since_.store(clock::now().time_since_epoch().count());
    waits_before_.store(call + 1);
    asleep_.store(false);
    ring();
    const auto sleep_at = clock::now() + spin;
    while (!over(call) && !failed() && clock::now() < sleep_at) std::this_thread::yield();
    if (!over(call)) {
      std::unique_lock lock(mutex_);
      if (!await_thread(lock, [&] { return over(call) || is_quiet_; })) {
        lock.unlock();
        fail(fault_kind::late, stuck_text);
      }
    }
    waits_before_.store(0);
    return over(call);
  }

  // Waits for a report of the communication thread. Late calls are found by that thread, so this returns false only if the thread
  // has made no round for longer than the deadline.
  template <class Condition>
  bool await_thread(std::unique_lock<std::mutex>& lock, const Condition& holds) {
    const auto longer = bounded_wait(options_.deadline) + patience;
    std::uint64_t seen = rounds_.load();
    for (running_deadline<clock> stuck(longer); !told_rank_.wait_until(lock, stuck.next_look(), holds);) {
      const bool is_over = stuck.is_over();
      if (const std::uint64_t now = rounds_.load(); now != seen) {
        seen = now;
        stuck = running_deadline<clock>(longer);
      } else if (is_over) return false;
    }
    return true;
  }

  // Wakes the rank. Called by the communication thread after it has written an atomic that the rank looks at.
  void tell_rank() {
    {
      const std::lock_guard lock(mutex_);
    }
    told_rank_.notify_all();
  }

  message_options options_;
  place here_{}; // written before the rank can call anything
  std::unique_ptr<entry[]> entries_;
  // Used by the rank's thread only: the oldest call that may be open, and the one that check() watches.
  std::uint64_t oldest_open_ = 0, watched_ = 0; // 1 + the number of the watched call
  running_deadline<clock> watch_{std::chrono::milliseconds(0)};
  std::atomic<std::uint64_t> rounds_{0}; // of the communication thread's loop
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> waits_before_{0}; // the rank waits for all calls before this one; 0 if it does not wait
  std::atomic<clock::rep> waits_since_{0};
  std::atomic<bool> is_late_{false}; // a call is, for which the rank does not wait
  std::atomic<bool> failed_{false};
  std::atomic<bool> asleep_{false}; // the communication thread is, or takes a nap
  sem_t bell_{};                    // wakes it

  std::mutex mutex_; // guards what follows
  std::condition_variable told_rank_;
  std::string failure_;
  fault_kind kind_ = fault_kind::lost;
  bool is_quiet_ = false; // after a failure: no call uses its memory any more
  bool is_ready_ = false; // the transport is there
  bool has_ended_ = false;
  other_wishes asks_{};
};

} // namespace cairn::detail
