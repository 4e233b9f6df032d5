// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <csignal>

#include <semaphore.h>

namespace cairn::detail {

// Whether SIGTERM has arrived, for a job's communicator. A launcher sends it to all ranks when one is lost, and the process
// should still report in which call that was. The handler sets `arrived` and posts the bell; a second SIGTERM ends the process at
// once.
struct termination {
  std::atomic<bool> arrived{false};
  std::atomic<sem_t*> bell{nullptr}; // sem_post is one of the few calls that a handler may make

  static termination& of_process() {
    static termination one;
    return one;
  }
  static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<sem_t*>::is_always_lock_free);
};

inline void on_termination(int) {
  termination& t = termination::of_process();
  t.arrived.store(true);
  if (sem_t* const bell = t.bell.load()) ::sem_post(bell);
}

// Notes SIGTERM for as long as it lives, if the program leaves that signal at its default.
class termination_notice {
public:
  explicit termination_notice(sem_t& bell) {
    termination::of_process().bell.store(&bell); // constructed before a handler may use it
    struct sigaction own{};
    own.sa_handler = &on_termination;
    own.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigemptyset(&own.sa_mask);
    is_ours_ =
        ::sigaction(SIGTERM, nullptr, &before_) == 0 && before_.sa_handler == SIG_DFL && ::sigaction(SIGTERM, &own, nullptr) == 0;
  }
  termination_notice(const termination_notice&) = delete;
  termination_notice& operator=(const termination_notice&) = delete;
  ~termination_notice() {
    if (is_ours_) ::sigaction(SIGTERM, &before_, nullptr);
    termination::of_process().bell.store(nullptr);
  }

  static bool arrived() { return termination::of_process().arrived.load(); }
  // Ends the process as SIGTERM does by default.
  [[noreturn]] static void end_process() {
    std::signal(SIGTERM, SIG_DFL);
    for (;;) std::raise(SIGTERM);
  }

private:
  bool is_ours_ = false;
  struct sigaction before_{};
};

} // namespace cairn::detail
