// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <cairn/comm/long_wait.hpp>

namespace cairn::detail {

// Records which ranks' bodies have ended, for ranks that are threads. Bodies may end at different times, as one may save or
// evaluate alone. A wait for the others therefore only prints lines on stderr, until a limit of its own.
class body_ends {
public:
  explicit body_ends(int ranks) : has_ended_(static_cast<std::size_t>(ranks), 0), open_(ranks) {}

  void mark(int rank) {
    {
      const std::lock_guard lock(mutex_);
      char& has_ended = has_ended_[static_cast<std::size_t>(rank)];
      if (has_ended == 0) --open_;
      has_ended = 1;
    }
    told_.notify_all();
  }

  // Called by rank 0, whose body has ended; returns whether all bodies end before the limit. Lines on stderr end with why(),
  // which says what has failed, if anything has. A line is left out if no memory is left for it.
  template <class Why>
  bool wait(std::chrono::milliseconds deadline, std::chrono::milliseconds limit, const Why& why) {
    long_wait end(deadline, limit);
    const auto waits = [&] { return "threads: the body of rank 0 has ended, and waits for that of " + running() + why(); };
    std::unique_lock lock(mutex_);
    while (!told_.wait_until(lock, end.next_look(), [&] { return open_ == 0; })) {
      try {
        if (end.is_over(waits)) return late_ = running(), false;
      } catch (const std::exception&) {
      }
    }
    return true;
  }

  // The ranks whose bodies had not ended when wait() returned.
  const std::string& late() const { return late_; }

private:
  // The ranks whose bodies have not ended, while the mutex is held.
  std::string running() const {
    std::string names;
    for (std::size_t rank = 0; rank < has_ended_.size(); ++rank)
      if (has_ended_[rank] == 0) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return names;
  }

  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<char> has_ended_;
  int open_;
  std::string late_;
};

} // namespace cairn::detail
