// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>

namespace testing {

// Restores the default handlers of SIGTERM and SIGINT during its lifetime: doctest handles both, and Cairn leaves signals alone
// that the program handles.
class default_signals {
public:
  default_signals() {
    struct sigaction defaults{};
    defaults.sa_handler = SIG_DFL;
    ::sigaction(SIGTERM, &defaults, &term_);
    ::sigaction(SIGINT, &defaults, &int_);
  }
  default_signals(const default_signals&) = delete;
  default_signals& operator=(const default_signals&) = delete;
  ~default_signals() {
    ::sigaction(SIGTERM, &term_, nullptr);
    ::sigaction(SIGINT, &int_, nullptr);
  }
  static bool is_default(int number) {
    struct sigaction now{};
    ::sigaction(number, nullptr, &now);
    return now.sa_handler == SIG_DFL;
  }

private:
  struct sigaction term_{};
  struct sigaction int_{};
};

} // namespace testing
