// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <mutex>

#include <cairn/comm/termination.hpp>
#include <cairn/core/error.hpp>

namespace cairn {

// While an object of this class exists, SIGTERM and SIGINT (Ctrl-C) do not end the process at once: they are noted, so that a
// loop can save and leave. A second signal ends the process as usual. A signal that the program handles or ignores itself is
// left alone; a communicator's own handler of SIGTERM does not count as such. Several objects may exist at a time, one for each
// rank of `threads`: the last one that is destroyed restores the earlier handlers.
//
//   const stop_signals signals;
//   while (...) {
//     if (signals.arrived() != 0) train.request_stop();
//     train.step(...);
//     if (train.stop_requested()) break;              // on all ranks after the same step
//   }
class stop_signals {
public:
  stop_signals() {
    auto& s = shared();
    const std::lock_guard lock(s.mutex);
    if (s.alive++ > 0) return;
    s.arrived = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      struct sigaction own{};
      own.sa_handler = &note;
      own.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART; // the next signal has its default effect
      ::sigemptyset(&own.sa_mask);
      s.is_ours[i] = ::sigaction(numbers[i], nullptr, &s.before[i]) == 0 &&
                     (s.before[i].sa_handler == SIG_DFL || s.before[i].sa_handler == &detail::on_termination) &&
                     ::sigaction(numbers[i], &own, nullptr) == 0;
    }
  }
  stop_signals(const stop_signals&) = delete;
  stop_signals& operator=(const stop_signals&) = delete;
  ~stop_signals() {
    auto& s = shared();
    const std::lock_guard lock(s.mutex);
    if (--s.alive > 0) return;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (s.is_ours[i]) ::sigaction(numbers[i], &s.before[i], nullptr);
  }

  // The number of the signal that has arrived, or 0; and its name.
  int arrived() const { return shared().arrived; }
  static const char* name_of(int number) { return number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" : "a signal"; }

private:
  static constexpr std::array<int, 2> numbers{SIGTERM, SIGINT};

  struct for_all {
    std::mutex mutex;
    int alive = 0;
    std::atomic<int> arrived{0};
    std::array<bool, numbers.size()> is_ours{};
    std::array<struct sigaction, numbers.size()> before{};
  };
  static_assert(std::atomic<int>::is_always_lock_free, "a signal's handler may touch nothing else");
  static for_all& shared() {
    static for_all all;
    return all;
  }
  static void note(int number) { shared().arrived = number; }
};

} // namespace cairn
