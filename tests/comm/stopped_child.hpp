// SPDX-License-Identifier: MIT
// Runs work in a process of its own, which may be stopped midway and may die. Its stderr is read.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace testing {

struct ended_child {
  int status = -1;      // exit status, or 128 + the signal that ended it
  std::string errors{}; // what it printed on stderr
};

// Runs body(ready) in a child, whose exit status is what the body returns. If the body calls ready(), the child is stopped from
// then on for the time `stopped`.
template <class Body>
ended_child run_in_child(std::chrono::milliseconds stopped, const Body& body) {
  std::array<int, 2> told{}, printed{};
  if (::pipe(told.data()) != 0 || ::pipe(printed.data()) != 0) return {};
  std::fflush(nullptr);
  const ::pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL); // instead of the test program's own handler
    ::dup2(printed[1], 2);
    ::close(printed[0]);
    ::close(told[0]);
    int status = 99;
    try {
      status = body([&] { static_cast<void>(!::write(told[1], "x", 1)); });
    } catch (const std::exception& thrown) {
      std::fprintf(stderr, "thrown: %s\n", thrown.what());
    }
    std::fflush(stderr);
    ::_exit(status);
  }
  ::close(told[1]);
  ::close(printed[1]);
  char one = 0;
  if (::read(told[0], &one, 1) == 1) {
    ::kill(child, SIGSTOP);
    std::this_thread::sleep_for(stopped);
    ::kill(child, SIGCONT);
  }
  ended_child end;
  std::array<char, 512> some{};
  for (::ssize_t count = 0; (count = ::read(printed[0], some.data(), some.size())) > 0;)
    end.errors.append(some.data(), static_cast<std::size_t>(count));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(told[0]);
  ::close(printed[0]);
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

// Works for this time while the process runs; time in which it is stopped does not count.
inline void work_for(std::chrono::milliseconds time) {
  for (; time.count() > 0; time -= std::chrono::milliseconds(10)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

} // namespace testing
