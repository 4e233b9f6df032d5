// SPDX-License-Identifier: MIT
// Records the system calls that write files: open, fsync and rename of this thread while a recording lives. The functions are
// weak, as several files of a program include this.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace testing {

struct system_call {
  std::string name, path, to; // to: the new name in a rename
  int flags = 0;              // for open
  std::size_t bytes = 0;      // for fsync: the size of the file at that moment
};

class recording {
public:
  // before_open(path, flags) may do what another process does at the worst moment.
  explicit recording(std::function<void(const std::string&, int)> before_open = {}) : before_open_(std::move(before_open)) {
    now = this;
  }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording() { now = nullptr; }

  const std::vector<system_call>& calls() const { return calls_; }
  // Returns the index of the first call from `begin` on for which is(call) holds, or the number of calls.
  template <class Is>
  std::size_t first(Is&& is, std::size_t begin = 0) const {
    while (begin < calls_.size() && !is(calls_[begin])) ++begin;
    return begin;
  }

  // For the replaced functions. Calls that before_open() makes are not recorded.
  static inline constinit thread_local recording* now = nullptr;
  void add(system_call call) {
    now = nullptr;
    if (call.name == "open" && before_open_) before_open_(call.path, call.flags);
    calls_.push_back(std::move(call));
    now = this;
  }

private:
  std::function<void(const std::string&, int)> before_open_;
  std::vector<system_call> calls_;
};

} // namespace testing

extern "C" [[gnu::weak]] int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    std::va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  if (testing::recording::now != nullptr) testing::recording::now->add({"open", path, "", flags, 0});
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
extern "C" [[gnu::weak]] int fsync(int file) {
  if (testing::recording::now != nullptr) {
    std::string path(4096, '\0');
    struct stat facts{};
    const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path.data(), path.size());
    path.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    ::fstat(file, &facts);
    testing::recording::now->add({"fsync", path, "", 0, static_cast<std::size_t>(facts.st_size)});
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}
extern "C" [[gnu::weak]] int rename(const char* from, const char* to) noexcept {
  if (testing::recording::now != nullptr) testing::recording::now->add({"rename", from, to, 0, 0});
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}
