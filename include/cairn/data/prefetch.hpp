// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// Makes numbered items ahead of their use: make(slot, index, cancelled) fills a slot on a thread of the prefetcher's own, and
// next() returns the slots in the order of the indices. There is one more slot than items ahead: the one that the consumer
// holds. It is filled again only after the consumer has asked for the next one. With no items ahead there is one slot and no
// thread, and next() makes the item itself.
//
// One mutex guards all counters: it is taken twice per batch, a cost that cannot be measured beside making the batch.
//
// One thread at a time, the consumer, calls its functions; make() runs on the prefetcher's own thread, or on the consumer's
// if nothing is made ahead.
template <class Make>
class prefetcher {
public:
  prefetcher(std::size_t ahead, std::chrono::milliseconds deadline, Make make)
      : ahead_(ahead), deadline_(deadline), make_(std::move(make)) {}
  prefetcher(const prefetcher&) = delete;
  prefetcher& operator=(const prefetcher&) = delete;

  // Waits for the sample that is being read: every wait of the thread checks `stopping_`.
  ~prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      cancelled_ = true;
    }
    room_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  std::size_t slots() const { return ahead_ + 1; }

  // Gives up the item that is being made. Afterwards the thread touches nothing until start().
  void cancel() {
    std::unique_lock lock(mutex_);
    cancelled_ = true;
    if (auto give_up = deadline(); !wait_within(give_up, ready_, lock, [&] { return !busy_; }))
      throw deadline_error(late("to give up a batch"));
  }

  // Begins with index 0 of `count` items; to be called only after cancel(), or the first time.
  void start(std::size_t count) {
    {
      const std::lock_guard lock(mutex_);
      count_ = count;
      made_ = taken_ = released_ = 0;
      failure_ = nullptr;
      cancelled_ = false;
    }
    if (ahead_ == 0) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    room_.notify_one();
  }

  // Returns the slot of the next item and takes back the previous one. An exception of make() is rethrown here, after all
  // items that were made before it.
  std::size_t next() {
    if (ahead_ == 0) {
      make_(0, taken_++, cancelled_);
      return 0;
    }
    std::unique_lock lock(mutex_);
    released_ = taken_;
    room_.notify_one();
    if (auto give_up = deadline(); !wait_within(give_up, ready_, lock, [&] { return made_ > taken_ || failure_; }))
      throw deadline_error(late("for a batch"));
    if (made_ == taken_) std::rethrow_exception(failure_);
    return taken_++ % slots();
  }

private:
  running_deadline<std::chrono::steady_clock> deadline() const { return running_deadline<std::chrono::steady_clock>(deadline_); }

  bool has_work() const { return !cancelled_ && !failure_ && made_ < count_ && made_ - released_ < slots(); }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [&] { return stopping_ || has_work(); });
      if (stopping_) return;
      const std::size_t index = made_;
      busy_ = true;
      lock.unlock();
      std::exception_ptr failure;
      try {
        make_(index % slots(), index, cancelled_);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      busy_ = false;
      if (!cancelled_) { // else it is not wanted any more, and the slot may be half filled
        failure_ = failure;
        if (!failure) ++made_;
      }
      ready_.notify_one();
    }
  }

  std::string late(const char* what) const {
    std::string text = "loader: waited ";
    return text.append(what)
        .append(" longer than the deadline of ")
        .append(std::to_string(deadline_.count()))
        .append(" ms; the dataset is stuck, or loader_options::deadline is too short for it");
  }

  const std::size_t ahead_;
  const std::chrono::milliseconds deadline_;
  const Make make_;

  std::mutex mutex_;
  std::condition_variable room_;  // the thread waits for something to do
  std::condition_variable ready_; // the consumer waits for a slot, or for the thread to stop working
  std::size_t count_ = 0;
  std::size_t made_ = 0;     // by the thread
  std::size_t taken_ = 0;    // by the consumer
  std::size_t released_ = 0; // slots that may be filled again: taken, and no longer held
  bool busy_ = false;        // the thread is inside make
  bool stopping_ = false;
  std::atomic<bool> cancelled_ = false; // written under the mutex, read by make without it
  std::exception_ptr failure_;
  std::thread thread_;
};

} // namespace cairn::detail
