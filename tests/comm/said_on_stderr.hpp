// SPDX-License-Identifier: MIT
// Captures what this process prints on stderr: tests whose ranks wait check the lines that report it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

namespace testing {

class said_on_stderr {
public:
  said_on_stderr() : before_(::dup(2)), taken_(std::tmpfile()) {
    if (taken_ != nullptr) ::dup2(::fileno(taken_), 2);
  }
  said_on_stderr(const said_on_stderr&) = delete;
  said_on_stderr& operator=(const said_on_stderr&) = delete;
  ~said_on_stderr() {
    give_back();
    if (taken_ != nullptr) std::fclose(taken_);
  }

  // Returns everything printed so far and restores stderr.
  std::string text() {
    give_back();
    std::string all;
    if (taken_ == nullptr) return "no file for what is said";
    std::rewind(taken_);
    std::array<char, 512> some{};
    for (std::size_t count = 0; (count = std::fread(some.data(), 1, some.size(), taken_)) > 0;) all.append(some.data(), count);
    return all;
  }

private:
  void give_back() {
    if (before_ < 0) return;
    std::fflush(stderr);
    ::dup2(before_, 2);
    ::close(before_);
    before_ = -1;
  }

  int before_;
  std::FILE* taken_;
};

// Whether every line contains `part`. There may be no line at all, depending on the machine's speed.
inline bool lines_have(std::string_view text, std::string_view part) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.find(part) == std::string_view::npos) return false;
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
  }
  return true;
}

} // namespace testing
