// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/comm/first_failure.hpp>
#include <cairn/comm/long_wait.hpp>
#include <cairn/comm/threads/call_ring.hpp>
#include <cairn/comm/threads/ring_texts.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/memory.hpp>

namespace cairn::detail {

// The state that the ranks of one threads::run share: their calls, the communication threads (one for each rank), and the first
// failure.
//
// Communication threads and waiting ranks take pieces of calls. The bits of a piece do not depend on the thread that takes it.
// Rejected: a fixed slice for each rank's thread, which makes every call wait for the thread that the system wakes last.
//
// A failure is final until recover(). `halted_` stops the taking of pieces; `failed_` says that the reason is known too. A span
// goes back to its owner only when no piece is being worked on (quiesce). That takes microseconds of copying, and does not depend
// on the progress of another rank.
//
// All atomics are sequentially consistent, because every sleep here relies on "either I see your number, or you see that I am
// asleep". A call costs a dozen of them, far less than its one context switch.
class thread_group {
public:
  // A wait lasts at most `deadline`, and for a call that may take long at most `long_deadline`, if that is longer.
  thread_group(int size, std::chrono::milliseconds deadline, std::size_t capacity,
               std::chrono::milliseconds long_deadline = std::chrono::milliseconds(0))
      : deadline_(deadline), long_deadline_(std::max(deadline, long_deadline)), calls_(size, capacity),
        ranks_(std::make_unique<rank_state[]>(static_cast<std::size_t>(size))) {
    for (int rank = 0; rank < size; ++rank) state_of(rank).started_at = std::make_unique<clock::time_point[]>(capacity);
    if (size == 1) return;
    try {
      for (int rank = 0; rank < size; ++rank) workers_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;
  ~thread_group() { stop(); }

  // The bytes of the arrays that it allocates.
  static constexpr std::size_t bytes(std::size_t ranks, std::size_t capacity) {
    return call_ring::bytes(ranks, capacity) + ranks * (sizeof(rank_state) + capacity * sizeof(clock::time_point));
  }
  std::size_t bytes() const { return bytes(static_cast<std::size_t>(size()), calls_.capacity()); }

  int size() const { return calls_.size(); }
  bool halted() const { return halted_.load(); }

  // Starts this rank's next call and returns its number, from 0. If the ranks make different calls, or the call needs a rank that
  // has returned, wait() throws. Texts count calls from 1.
  std::uint64_t start(int rank, const rank_call& asked) {
    const std::uint64_t call = calls_.started(rank);
    if (stuck(rank)) throw_reason(prefix(rank, call, asked) + "it cannot start, because ");
    if (!calls_.has_room(call))
      throw input_error(prefix(rank, call, asked) + "it cannot start, because " + std::to_string(calls_.capacity()) +
                        " calls are in flight; wait for some of them first, or raise threads::options::max_in_flight");
    state_of(rank).started_at[call % calls_.capacity()] = clock::now();
    if (calls_.post(rank, asked)) make_ready(call);
    if (any_away_.load()) check_that_none_is_away(rank, call);
    return call;
  }

  // Returns when the call is over; throws on failure or after the deadline, once no piece is being worked on.
  void wait(int rank, std::uint64_t call) {
    if (call < recovered_)
      throw rank_lost(prefix(rank, call, calls_.asked(rank, call)) + "it was given up before the ranks recovered");
    if (calls_.over(call)) return;
    std::atomic<std::uint64_t>& waits_before = state_of(rank).waits_before;
    waits_before.store(call + 1);
    long_wait give_up(deadline_, limit_of(rank, call));
    // A rank that waits takes pieces itself: if every core has a rank, that saves two context switches.
    auto sleep_at = clock::now() + spin;
    while (!calls_.over(call)) {
      if (help(call + 1)) {
        sleep_at = clock::now() + spin;
      } else if (stuck(rank)) {
        if (calls_.over(call)) break; // it was over before the group failed
        throw_failure(rank, call);
      } else if (clock::now() < sleep_at) {
        relax();
      } else if (!sleep(rank, call, give_up)) {
        fail(late_text(call, give_up.limit()), fault_kind::late);
      }
    }
    waits_before.store(0);
  }

  // Whether a wait would return at once.
  bool over(std::uint64_t call) const { return calls_.over(call); }

  // Throws if the group has failed, or if a call of this rank is still open after its deadline. It does not wait.
  void check(int rank) {
    const std::uint64_t started = calls_.started(rank);
    rank_state& own = state_of(rank);
    std::uint64_t& open = own.oldest_open;
    open = std::max(open, started - std::min<std::uint64_t>(started, calls_.capacity())); // those before are over
    while (open < started && calls_.over(open)) ++open;
    if (open < started && !stuck(rank)) {
      const std::chrono::milliseconds limit = limit_of(rank, open);
      if (own.watched != open + 1)
        own.watch = running_deadline<clock>(limit, own.started_at[open % calls_.capacity()], limit / 2);
      own.watched = open + 1;
      if (own.watch.is_over()) fail(late_text(open, limit), fault_kind::late);
    }
    if (!stuck(rank)) return;
    if (open < started) throw_failure(rank, open);
    throw_reason(texts_.rank(rank) + ": it cannot go on, because ");
  }

  // Gives the span of a call back to its owner before wait(), as an exception passes. The exception's text is not known yet: the
  // rank's threw() follows, and until then the other ranks go on waiting.
  void drop(int rank, std::uint64_t call) noexcept {
    if (calls_.over(call)) return;
    int none = -1;
    dropped_by_.compare_exchange_strong(none, rank);
    halted_.store(true);
    quiesce();
  }

  // Waits until all ranks have called it, then clears the failure: calls are served again. Those started before a failure are
  // lost, and their wait() throws. Throws on every rank if one does not come.
  void recover(int rank, const call_purpose& purpose) {
    if (halted() && !failed_.load()) fail(dropped_text()); // so that the others come too
    go_away(rank, presence::recovers);
    if (halted()) quiesce();
    std::unique_lock lock(mutex_);
    const std::uint64_t meeting = meetings_;
    if (++met_ == size()) { // all are here, so nothing starts
      for (int each = 0; each < size(); ++each) state_of(each).where.store(presence::works);
      any_away_.store(false);
      if (halted()) forget_failure();
      met_ = 0;
      ++meetings_;
      waiters_.notify_all();
      return;
    }
    const auto one_is_gone = [&] {
      for (int each = 0; each < size(); ++each)
        if (state_of(each).where.load() == presence::returned) return true;
      return failure_.has_exception();
    };
    long_wait give_up(deadline_, limit_of(purpose));
    const auto waits = [&] {
      return texts_.rank(rank) + " waits for the others to recover, of which " + std::to_string(met_) + " have come";
    };
    const auto is_over = [&] { return meetings_ != meeting || one_is_gone(); };
    while (!waiters_.wait_until(lock, give_up.next_look(), is_over))
      if (give_up.is_over(waits)) break;
    if (meetings_ != meeting) return;
    const std::string whose = texts_.rank(rank) + ": expected all ranks to recover together, found ";
    const std::string late = std::to_string(met_--) + " of them within " + std::to_string(give_up.limit().count()) + " ms";
    if (one_is_gone()) throw rank_lost(whose + "one that has returned");
    throw deadline_error(whose + late);
  }

  // The rank's body has returned.
  void leave(int rank) {
    go_away(rank, presence::returned);
    if (dropped_by_.load() == rank) fail(dropped_text());
    {
      const std::lock_guard lock(mutex_);
    }
    waiters_.notify_all(); // those that recover
  }

  // The rank's body has thrown.
  void threw(int rank, std::exception_ptr thrown, const char* what) noexcept {
    {
      const std::lock_guard lock(mutex_);
      failure_.keep(rank, std::move(thrown));
    }
    fail(first_failure::text_of(rank, what));
  }
  // Called when all bodies have ended. Throws rank_lost with the first exception nested in it, if there was one.
  void rethrow_first() const {
    failure_.rethrow([this](int rank) { return texts_.rank(rank); });
  }
  // The failure, for a line on stderr; empty if there is none.
  std::string failure() {
    const std::lock_guard lock(mutex_);
    return failed_.load() ? failure_.reason() : std::string();
  }

  // Records a failure, of which every rank learns. The first one wins.
  void fail(std::string text, fault_kind kind = fault_kind::lost) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (failed_.load()) return;
      failure_.set(std::move(text), kind);
      halted_.store(true);
      failed_.store(true);
    }
    waiters_.notify_all();
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds spin{5}; // about the cost of falling asleep and waking up

  // A rank that is away starts no calls: it waits for the others to recover, or its body has returned.
  enum class presence : unsigned char { works, recovers, returned };

  struct alignas(alignment) rank_state {
    std::atomic<std::uint64_t> waits_before{0}; // it waits for all calls before this one to be over
    std::atomic<presence> where{presence::works};
    // Used by this rank only: when its calls were started, the oldest that may be open, and the one that check() watches.
    std::unique_ptr<clock::time_point[]> started_at;
    std::uint64_t oldest_open = 0, watched = 0; // 1 + its number
    running_deadline<clock> watch{std::chrono::milliseconds(0)};
  };

  static void relax() {
#if CAIRN_X86
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }

  // Called by the last rank that started the call, which sees the arguments of the others.
  void make_ready(std::uint64_t call) {
    const rank_call& first = calls_.asked(0, call);
    for (int rank = 1; rank < size(); ++rank)
      if (!first.matches(calls_.asked(rank, call))) return fail(texts_.different(call), fault_kind::different);
    const std::uint64_t pieces = calls_.publish(call);
    if (size() == 1) { // no other threads: the call is over before it has returned
      while (help()) continue;
      return;
    }
    // A rank that waits for this call is otherwise idle: a small call is left to it alone.
    bool awaited = false;
    for (int rank = 0; rank < size(); ++rank) awaited = awaited || state_of(rank).waits_before.load() > call;
    if (awaited) wake(waiting_, waiters_);
    if (!awaited || pieces > 1) wake(idle_, idlers_, pieces > 1);
  }

  // A sleeper holds the mutex between its last look and its sleep, so taking the mutex once is enough for the notification not to
  // come too early.
  void wake(const std::atomic<int>& sleepers, std::condition_variable& bed, bool all = true) {
    if (sleepers.load() == 0) return;
    {
      const std::lock_guard lock(mutex_);
    }
    all ? bed.notify_all() : bed.notify_one();
  }

  // Sleeps for a slice of the wait. Returns false after the deadline.
  bool sleep(int rank, std::uint64_t call, long_wait& give_up) {
    std::unique_lock lock(mutex_);
    waiting_.fetch_add(1);
    const bool woken = waiters_.wait_until(
        lock, give_up.next_look(), [&] { return calls_.over(call) || stuck(rank) || (!halted() && calls_.has_piece(call + 1)); });
    waiting_.fetch_sub(1);
    lock.unlock();
    return woken || !give_up.is_over([&] { return texts_.waits(rank, call); });
  }

  // The loop of a communication thread. If it is idle, only the destructor waits for it, and wakes it, so this is the one wait
  // without a deadline.
  void work() {
    for (;;) {
      while (help()) continue;
      std::unique_lock lock(mutex_);
      idle_.fetch_add(1);
      idlers_.wait(lock, [&] { return stopping_ || (!halted() && calls_.has_piece()); });
      idle_.fetch_sub(1);
      if (stopping_) return;
    }
  }

  // Takes and carries out the next piece of the calls before `end`; returns false if there is none.
  bool help(std::uint64_t end = ~std::uint64_t{0}) {
    if (!calls_.has_piece(end)) return false;
    active_.fetch_add(1); // before the look at halted_: this thread sees it, or quiesce() sees this thread
    call_ring::piece taken;
    const bool found = !halted() && calls_.take(end, taken);
    if (found) {
      calls_.carry_out(taken);
      if (calls_.finish(taken)) wake(waiting_, waiters_);
    }
    active_.fetch_sub(1);
    return found;
  }

  void forget_failure() {
    recovered_ = calls_.give_up();
    failure_.forget();
    dropped_by_.store(-1);
    failed_.store(false);
    halted_.store(false);
  }

  // Called after halted_ has been set. It yields rather than sleeps: a piece takes about 10 microseconds.
  void quiesce() const {
    while (active_.load() != 0) std::this_thread::yield();
  }

  // Whether this rank has to give up. Another rank's drop() is not enough: that rank is about to report an exception, whose text
  // is worth the wait.
  bool stuck(int rank) const { return failed_.load() || dropped_by_.load() == rank; }

  rank_state& state_of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  // Marks the rank as away. It is a failure if another rank needs a further call of it. This rank sets its flag before it looks
  // at the others' calls; the others count their call before they look at the flag. So one of them sees it.
  void go_away(int rank, presence where) {
    state_of(rank).where.store(where);
    any_away_.store(true);
    for (int other = 0; other < size(); ++other)
      if (const std::uint64_t calls = calls_.started(rank); calls_.started(other) > calls) fail(away_text(rank, other, calls));
  }
  void check_that_none_is_away(int rank, std::uint64_t call) {
    for (int other = 0; other < size(); ++other)
      if (state_of(other).where.load() != presence::works && calls_.started(other) <= call)
        fail(away_text(other, rank, calls_.started(other)));
  }

  [[noreturn]] void throw_failure(int rank, std::uint64_t call) {
    if (!failed_.load()) fail(dropped_text());
    quiesce();
    throw_reason(prefix(rank, call, calls_.asked(rank, call)) + "it was not done, because ");
  }

  // Called only when the group is halted. The failure does not change once failed_ is set.
  [[noreturn]] void throw_reason(const std::string& what) {
    if (!failed_.load()) fail(dropped_text());
    failure_.throw_reason(what);
  }
  std::chrono::milliseconds limit_of(int rank, std::uint64_t call) const { return limit_of(calls_.asked(rank, call).purpose); }
  std::chrono::milliseconds limit_of(const call_purpose& purpose) const {
    return purpose.may_take_long ? long_deadline_ : deadline_;
  }

  std::string prefix(int rank, std::uint64_t call, const rank_call& asked) const { return texts_.prefix(rank, call, asked); }
  std::string dropped_text() const {
    return "rank " + std::to_string(dropped_by_.load()) + " gave up a call without waiting for it";
  }
  std::string away_text(int rank, int other, std::uint64_t calls) const {
    return texts_.away(rank, state_of(rank).where.load() == presence::returned, other, calls);
  }
  std::string late_text(std::uint64_t call, std::chrono::milliseconds limit) const {
    return dropped_by_.load() >= 0 ? dropped_text() : texts_.late(call, limit);
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    idlers_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  std::chrono::milliseconds deadline_, long_deadline_;
  call_ring calls_;
  const ring_texts texts_{calls_};
  std::unique_ptr<rank_state[]> ranks_;
  std::atomic<bool> any_away_{false};
  std::uint64_t recovered_ = 0; // calls before this one are lost; changes only while all ranks recover

  std::atomic<bool> halted_{false};
  std::atomic<bool> failed_{false};
  std::atomic<int> dropped_by_{-1};
  std::atomic<int> active_{0};  // threads that look for a piece or work on one
  std::atomic<int> idle_{0};    // communication threads that sleep
  std::atomic<int> waiting_{0}; // ranks that sleep

  std::mutex mutex_; // guards what follows, and falling asleep
  std::condition_variable idlers_;
  std::condition_variable waiters_;
  bool stopping_ = false;
  int met_ = 0;                // ranks that wait in recover()
  std::uint64_t meetings_ = 0; // recoveries that are over
  first_failure failure_;

  std::vector<std::thread> workers_;
};

} // namespace cairn::detail
