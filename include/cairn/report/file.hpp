// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <cairn/core/error.hpp>

namespace cairn {

namespace detail {

// An open file; closes it. POSIX, as std::ofstream can neither sync nor refuse a name that exists.
class open_file {
public:
  open_file(const std::filesystem::path& path, int flags) {
    do number_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    while (number_ < 0 && errno == EINTR);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  bool write(std::string_view text) {
    while (!text.empty()) {
      const auto written = ::write(number_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
  bool sync() { return ::fsync(number_) == 0; }
  bool close() {
    const bool fine = number_ < 0 || ::close(number_) == 0;
    number_ = -1;
    return fine;
  }

private:
  int number_ = -1;
};

} // namespace detail

// Makes `text` the whole contents of the file. A reader sees the old contents or the new ones, never a part,
// and so does the next start after a crash: written beside it under another name, synced, then renamed over
// it. Throws cairn::error and leaves the old file alone when any of that fails.
inline void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  static std::atomic<unsigned> serial{0};
  // In the same folder, as a rename cannot cross file systems; with the process and a number, as others may
  // be writing the same file.
  std::filesystem::path part = path;
  part += ".part-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1));
  bool ours = false;
  const auto fail = [&](const char* what) {
    const int reason = errno;
    if (ours) std::remove(part.c_str());
    throw error("write_file_atomically: cannot " + std::string(what) + " '" + path.string() +
                "': " + std::strerror(reason) + ". Its folder must exist, be writable and have room.");
  };

  detail::open_file file(part, O_WRONLY | O_CREAT | O_EXCL);
  if (!file) fail("create a file beside");
  ours = true;
  if (!file.write(text)) fail("write");
  if (!file.sync()) fail("sync");
  if (!file.close()) fail("close");
  if (std::rename(part.c_str(), path.c_str()) != 0) fail("replace");

  // The new name is safe only when its folder is. Some file systems refuse to sync a folder: nothing to do
  // then.
  const auto folder = path.parent_path();
  detail::open_file names(folder.empty() ? std::filesystem::path(".") : folder, O_RDONLY);
  if (names) names.sync();
}

} // namespace cairn
