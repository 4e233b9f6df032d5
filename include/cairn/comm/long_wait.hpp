// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <cairn/core/deadline.hpp>

namespace cairn::detail {

// "30 s", "20 ms"
inline std::string text_of(std::chrono::milliseconds time) {
  if (time.count() % 1000 != 0 || time.count() == 0) return std::to_string(time.count()) + " ms";
  return std::to_string(time.count() / 1000) + " s";
}

// A wait for other ranks that may rightly last longer than the deadline. After the deadline a line on stderr says which rank
// waits for which, and again each time that the wait has doubled; after the limit the wait is over. If the limit is not longer
// than the deadline, it is an ordinary wait, which ends without a line.
class long_wait {
public:
  using clock = std::chrono::steady_clock;

  long_wait(std::chrono::milliseconds deadline, std::chrono::milliseconds limit, clock::time_point begun = clock::now())
      : limit_(std::max(deadline, limit)), begun_(begun), next_line_(begun + bounded_wait(deadline)), end_(limit_, begun) {}
  // The same for looks at irregular times, as those of a running_deadline.
  long_wait(std::chrono::milliseconds deadline, std::chrono::milliseconds limit, clock::time_point begun, clock::duration slice)
      : limit_(std::max(deadline, limit)), begun_(begun), next_line_(begun + bounded_wait(deadline)), end_(limit_, begun, slice) {
  }

  std::chrono::milliseconds limit() const { return limit_; }
  clock::time_point next_look() const { return end_.next_look(); }

  // Looks at the clock, and returns whether the limit plus `more` is over. waits() returns the text of a line that is due, such
  // as "threads: rank 1 of 2 waits for rank 0".
  template <class Waits>
  bool is_over(const Waits& waits, clock::duration more = clock::duration(0)) {
    const clock::time_point now = clock::now();
    if (end_.is_over(now, more)) return true;
    if (now >= next_line_ && now - begun_ < limit_) {
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
      const auto told = waited < std::chrono::seconds(1) ? waited : std::chrono::duration_cast<std::chrono::seconds>(waited);
      std::fprintf(stderr, "%s (%s so far, at most %s)\n", std::string(waits()).c_str(), text_of(told).c_str(),
                   text_of(limit_).c_str());
      std::fflush(stderr);
      next_line_ = now + (now - begun_);
    }
    return false;
  }

private:
  std::chrono::milliseconds limit_;
  clock::time_point begun_, next_line_;
  running_deadline<clock> end_;
};

} // namespace cairn::detail
