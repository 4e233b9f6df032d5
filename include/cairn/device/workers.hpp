// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// Hints to the core that this is a short spin.
inline void spin_pause() {
#if CAIRN_X86
  __builtin_ia32_pause();
#endif
}

// Threads that are started once and then share the parts of one job after another with the caller. A job costs no allocation
// and no lock.
//
// Each thread begins with a share of its own, as many neighbouring parts as the others have, and then helps with the shares of
// others. So the rows of a matrix, which ops cut into parts in their order, stay in one core's cache from op to op.
//
// One thread at a time may call run(), and a part must not call it.
class workers {
public:
  using part_function = void (*)(void* context, std::size_t part, std::size_t thread);

  // `helpers` threads besides the caller.
  explicit workers(std::size_t helpers)
      : shares_(new share[helpers + 1]), count_(helpers + 1), threads_(new std::thread[helpers]) {
    try {
      for (; started_ < helpers; ++started_) threads_[started_] = std::thread([this, thread = started_ + 1] { serve(thread); });
    } catch (...) {
      stop();
      throw;
    }
  }
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;
  ~workers() { stop(); }

  // Calls f(context, part, thread) once for every part in [0, parts), parts > 0; thread is in [0, helpers], the caller's is 0.
  // Returns when all are done. If parts throw, those not yet begun are skipped and one of the exceptions is rethrown.
  void run(std::size_t parts, part_function f, void* context) {
    function_ = f;
    context_ = context;
    parts_ = static_cast<std::uint32_t>(parts);
    open_.store(parts_, std::memory_order_relaxed);
    const std::uint32_t round = round_.load(std::memory_order_relaxed) + 1;
    for (std::size_t k = 0; k < count_; ++k)
      shares_[k].ticket.store(std::uint64_t{round} << 32 | (begin_of(k + 1) - begin_of(k)), std::memory_order_release);
    round_.store(round, std::memory_order_release);
    round_.notify_all();

    take_parts(round, 0);
    for (int i = 0; i < spins && open_.load(std::memory_order_acquire) != 0; ++i) spin_pause();
    for (std::uint32_t open = 0; (open = open_.load(std::memory_order_acquire)) != 0;) open_.wait(open);
    if (failed_.load(std::memory_order_relaxed)) {
      const std::exception_ptr failure = std::move(failure_);
      failure_ = nullptr;
      failed_.store(false, std::memory_order_relaxed);
      std::rethrow_exception(failure);
    }
  }

private:
  // About five microseconds: longer than the gap between two ops of a step, too short to be noticed.
  static constexpr int spins = 200;

  void serve(std::size_t thread) {
    for (std::uint32_t seen = 0;;) {
      for (int i = 0; i < spins && round_.load(std::memory_order_acquire) == seen; ++i) spin_pause();
      round_.wait(seen, std::memory_order_acquire);
      seen = round_.load(std::memory_order_acquire);
      if (stopping_.load(std::memory_order_acquire)) return;
      take_parts(seen, thread);
    }
  }

  // The parts [begin_of(k), begin_of(k + 1)) are the share of thread k.
  struct alignas(64) share {
    std::atomic<std::uint64_t> ticket{0}; // (round, parts left)
  };
  std::uint32_t begin_of(std::size_t k) const { return static_cast<std::uint32_t>(std::uint64_t{parts_} * k / count_); }

  void take_parts(std::uint32_t round, std::size_t thread) {
    for (std::size_t k = thread; k < thread + count_; ++k) take_parts(round, thread, k % count_);
  }
  // A part is taken by a compare-exchange, which fails if the round is over: a thread that wakes late finds no part, so no thread
  // has to wait for it. The job's description is read only after a part has been taken, and does not change until that part is
  // done.
  void take_parts(std::uint32_t round, std::size_t thread, std::size_t k) {
    std::atomic<std::uint64_t>& of_share = shares_[k].ticket;
    std::uint64_t ticket = of_share.load(std::memory_order_acquire);
    while (ticket >> 32 == round && static_cast<std::uint32_t>(ticket) != 0) {
      if (!of_share.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
      const std::uint32_t part = begin_of(k + 1) - static_cast<std::uint32_t>(ticket);
      if (!failed_.load(std::memory_order_relaxed)) {
        try {
          function_(context_, part, thread);
        } catch (...) {
          if (!failed_.exchange(true)) failure_ = std::current_exception();
        }
      }
      if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) open_.notify_one();
      ticket = of_share.load(std::memory_order_acquire);
    }
  }

  void stop() {
    stopping_.store(true, std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (std::size_t i = 0; i < started_; ++i) threads_[i].join();
  }

  part_function function_ = nullptr;
  void* context_ = nullptr;
  std::uint32_t parts_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> stopping_{false};
  std::unique_ptr<share[]> shares_;
  std::size_t count_;
  alignas(64) std::atomic<std::uint32_t> round_{0}; // idle threads sleep on it
  alignas(64) std::atomic<std::uint32_t> open_{0};  // parts not yet done; the caller sleeps on it
  std::unique_ptr<std::thread[]> threads_;
  std::size_t started_ = 0;
};

} // namespace cairn::detail
