// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/core/error.hpp>

namespace cairn {

namespace detail {

// An open file; it is closed with the object. POSIX calls, because std::ofstream can neither sync nor refuse a name that
// exists, and because <fstream> and <filesystem> cost every user of the library a tenth of a second. A path is a
// std::string everywhere; a std::filesystem::path becomes one by itself. What fails leaves its reason in errno.
class open_file {
public:
  static constexpr std::uint64_t no_size = static_cast<std::uint64_t>(-1);

  open_file(const std::string& path, int flags) {
    do number_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    while (number_ < 0 && errno == EINTR);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { close(); }

  explicit operator bool() const { return number_ >= 0; }

  // Bytes, or no_size where it is not open or is no ordinary file.
  std::uint64_t size() const {
    struct stat facts{};
    if (number_ < 0 || ::fstat(number_, &facts) != 0) return no_size;
    if (S_ISREG(facts.st_mode)) return static_cast<std::uint64_t>(facts.st_size);
    errno = S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
    return no_size;
  }
  // Exactly so many bytes from an offset; false where the file has fewer.
  bool read(void* to, std::size_t bytes, std::uint64_t offset) {
    for (auto* next = static_cast<char*>(to); bytes > 0;) {
      const auto got = ::pread(number_, next, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      next += got;
      offset += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }
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

// FILE, byte N: expected X, found Y; do Z.
[[noreturn]] inline void wrong_bytes(const std::string& path, std::uint64_t offset, const std::string& expected,
                                     const std::string& found, const char* advice) {
  std::string text = path;
  text.append(", byte ").append(std::to_string(offset)).append(": expected ").append(expected);
  text.append(", found ").append(found).append("; ").append(advice);
  throw file_error(text);
}

inline bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Makes what write(open_file&) writes the whole contents of the file; it gives false where it fails. See
// write_file_atomically.
template <class Write>
void replace_file(const std::string& path, Write&& write) {
  static std::atomic<unsigned> serial{0};
  // In the same folder, as a rename cannot cross file systems; with the process and a number, as others may
  // be writing the same file.
  const std::string part = path + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1));
  bool ours = false;
  const auto fail = [&](const char* what) {
    const int reason = errno;
    if (ours) std::remove(part.c_str());
    throw file_error("write_file_atomically: cannot " + std::string(what) + " '" + path + "': " + std::strerror(reason) +
                     ". Its folder must exist, be writable and have room.");
  };

  open_file file(part, O_WRONLY | O_CREAT | O_EXCL);
  if (!file) fail("create a file beside");
  ours = true;
  if (!write(file)) fail("write");
  if (!file.sync()) fail("sync");
  if (!file.close()) fail("close");
  if (std::rename(part.c_str(), path.c_str()) != 0) fail("replace");

  // The new name is safe only when its folder is. Some file systems refuse to sync a folder: nothing to do
  // then.
  const std::size_t slash = path.find_last_of('/');
  open_file names(slash == path.npos ? "." : path.substr(0, slash + 1), O_RDONLY);
  if (names) names.sync();
}

} // namespace detail

// Makes `text` the whole contents of the file. A reader sees the old contents or the new ones, never a part,
// and so does the next start after a crash: the text is written beside the file under another name, synced, then
// renamed over it. Throws file_error and leaves the old file alone when any of that fails.
inline void write_file_atomically(const std::string& path, std::string_view text) {
  detail::replace_file(path, [text](detail::open_file& file) { return file.write(text); });
}

} // namespace cairn
