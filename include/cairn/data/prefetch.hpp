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
#include <vector>

#include <cairn/core/deadline.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

// Makes numbered items ahead of their use: make(slot, index, cancelled) fills a slot on a thread of the prefetcher's own, one of
// several, each of which makes the next item that none has begun. next() returns the slots in the order of the indices. There is
// one more slot than items ahead: the one that the consumer holds. It is filled again only after the consumer has asked for the
// next one. With no items ahead there is one slot and no thread, and next() makes the item itself.
//
// One mutex guards all counters: it is taken twice per batch, a cost that cannot be measured beside making the batch.
//
// One thread at a time, the consumer, calls its functions; make() runs on the prefetcher's own threads, or on the consumer's
// if nothing is made ahead.
template <class Make>
class prefetcher {
public:
  prefetcher(std::size_t ahead, std::chrono::milliseconds deadline, Make make, std::size_t threads = 1)
      : ahead_(ahead), threads_(ahead == 0 ? 0 : threads), deadline_(deadline), make_(std::move(make)), made_(ahead + 1) {}
  prefetcher(const prefetcher&) = delete;
  prefetcher& operator=(const prefetcher&) = delete;

  // Waits for the samples that are being read: every wait of a thread checks `stopping_`.
  ~prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      cancelled_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : running_) thread.join();
  }

  std::size_t slots() const { return ahead_ + 1; }

  // Gives up the items that are being made. Afterwards no thread touches anything until start().
  void cancel() {
    std::unique_lock lock(mutex_);
    cancelled_ = true;
    if (auto give_up = deadline(); !wait_within(give_up, ready_, lock, [&] { return busy_ == 0; }))
      throw deadline_error(late("to give up a batch"));
  }

  // Begins with index 0 of `count` items; to be called only after cancel(), or the first time.
  void start(std::size_t count) {
    {
      const std::lock_guard lock(mutex_);
      count_ = count;
      begun_ = taken_ = released_ = 0;
      made_.assign(slots(), 0);
      failure_ = nullptr;
      cancelled_ = false;
    }
    running_.reserve(threads_);
    while (running_.size() < threads_) running_.emplace_back([this] { run(); });
    room_.notify_all();
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
    const std::size_t slot = taken_ % slots();
    const auto has_come = [&] { return made_[slot] != 0 || (failure_ && failed_ == taken_); };
    if (auto give_up = deadline(); !wait_within(give_up, ready_, lock, has_come)) throw deadline_error(late("for a batch"));
    if (made_[slot] == 0) std::rethrow_exception(failure_);
    made_[slot] = 0;
    ++taken_;
    return slot;
  }

private:
  running_deadline<std::chrono::steady_clock> deadline() const { return running_deadline<std::chrono::steady_clock>(deadline_); }

  bool has_work() const { return !cancelled_ && !failure_ && begun_ < count_ && begun_ - released_ < slots(); }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [&] { return stopping_ || has_work(); });
      if (stopping_) return;
      const std::size_t index = begun_++;
      ++busy_;
      lock.unlock();
      std::exception_ptr failure;
      try {
        make_(index % slots(), index, cancelled_);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      --busy_;
      if (!cancelled_) { // else it is not wanted any more, and the slot may be half filled
        if (!failure) {
          made_[index % slots()] = 1;
        } else if (!failure_ || index < failed_) { // the first one of the order is told
          failure_ = failure;
          failed_ = index;
        }
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

  const std::size_t ahead_, threads_;
  const std::chrono::milliseconds deadline_;
  const Make make_;

  std::mutex mutex_;
  std::condition_variable room_;  // threads wait for something to do
  std::condition_variable ready_; // the consumer waits for a slot, or for the threads to stop working
  std::size_t count_ = 0;
  std::size_t begun_ = 0;           // by the threads
  std::vector<unsigned char> made_; // each slot: whether its item is there, and not yet taken
  std::size_t taken_ = 0;           // by the consumer
  std::size_t released_ = 0;        // slots that may be filled again: taken, and no longer held
  std::size_t busy_ = 0;            // threads that are inside make
  bool stopping_ = false;
  std::atomic<bool> cancelled_ = false; // written under the mutex, read by make without it
  std::exception_ptr failure_;          // of the item failed_
  std::size_t failed_ = 0;
  std::vector<std::thread> running_;
};

} // namespace cairn::detail
