// SPDX-License-Identifier: MIT
// A file that a progress bar of a test writes to, and the clock that it reads.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace testing {

// A clock that only pass() moves on.
struct set_clock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_clock>;
  static inline time_point time{};
  static time_point now() { return time; }
  static void pass(int milliseconds) { time += duration(milliseconds); }
};

// A temporary file: a place to write that is no terminal.
struct paper {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};

  std::string text() const {
    std::string out;
    std::rewind(file.get());
    for (int c = 0; (c = std::fgetc(file.get())) != EOF;) out += static_cast<char>(c);
    std::fseek(file.get(), 0, SEEK_END);
    return out;
  }
  std::vector<std::string> pieces(char end) const {
    std::vector<std::string> out(1);
    for (const char c : text()) {
      if (c == end) out.emplace_back();
      else out.back() += c;
    }
    return out;
  }
};

} // namespace testing
