// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>

namespace cairn::detail {

// An open file; the destructor closes it. Uses POSIX calls: std::ofstream can neither sync nor refuse a name that exists, and
// <fstream> and <filesystem> cost every user of the library a tenth of a second. A path is a std::string everywhere; a
// std::filesystem::path converts by itself. A call that fails leaves its reason in errno.
class open_file {
public:
  static constexpr std::uint64_t no_size = static_cast<std::uint64_t>(-1);

  // Opening a pipe would wait for its other end, without a deadline. O_NONBLOCK prevents that; ordinary files ignore it, and
  // it is cleared once the file is open.
  open_file(const std::string& path, int flags) {
    do number_ = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
    while (number_ < 0 && errno == EINTR);
    if (number_ >= 0) ::fcntl(number_, F_SETFL, flags & ~O_NONBLOCK);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { close(); }

  explicit operator bool() const { return number_ >= 0; }

  // The size in bytes, or no_size if the file is not open or not an ordinary file; fault() then says why.
  std::uint64_t size() const {
    struct stat facts{};
    if (number_ < 0 || ::fstat(number_, &facts) != 0) return no_size;
    if (S_ISREG(facts.st_mode)) return static_cast<std::uint64_t>(facts.st_size);
    errno = S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
    return no_size;
  }
  std::string fault() const {
    const int reason = errno;
    const bool is_strange = number_ >= 0 && reason == EINVAL;
    return is_strange ? "expected an ordinary file, found a pipe, a device or a socket" : std::strerror(reason);
  }
  // Reads exactly `bytes` bytes from an offset. False if it fails; errno is 0 if the file has fewer bytes.
  bool read(void* to, std::size_t bytes, std::uint64_t offset) {
    for (auto* next = static_cast<char*>(to); bytes > 0;) {
      const auto got = ::pread(number_, next, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) errno = 0;
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
  bool sync() {
    int done = 0;
    do done = ::fsync(number_);
    while (done != 0 && errno == EINTR);
    return done == 0;
  }
  // False with EWOULDBLOCK while the file is locked elsewhere. The lock ends with the object or the process.
  bool lock() { return ::flock(number_, LOCK_EX | LOCK_NB) == 0; }
  // Whether `path` still names this file, which might have been removed or replaced.
  bool is_at(const std::string& path) const {
    struct stat own{}, named{};
    return ::fstat(number_, &own) == 0 && ::lstat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
           own.st_ino == named.st_ino;
  }
  bool set_mode(mode_t mode) {
    struct stat own{};
    return ::fstat(number_, &own) == 0 && ((own.st_mode & 07777U) == mode || ::fchmod(number_, mode) == 0);
  }
  // Changes the owner. Only root may do that, and nobody needs it: a failure is ignored.
  void give_to(uid_t user, gid_t group) { [[maybe_unused]] const int done = ::fchown(number_, user, group); }
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

// A file that the system did not open or did not read. The error says nothing about its contents.
class unreadable_file : public file_error {
public:
  using file_error::file_error;
};

inline bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// The folder of a file, with a slash at its end; "./" for a name alone.
inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == path.npos ? "./" : path.substr(0, slash + 1);
}
// Syncs a folder, so that the names in it last. A failure is ignored: some file systems refuse to sync a folder, and a folder
// that may not be read cannot be opened.
inline void sync_folder(const std::string& folder) {
  open_file names(folder, O_RDONLY);
  if (names) names.sync();
}

// Calls f(name) for every entry of a folder. Returns 0, or the errno if the folder cannot be read.
template <class F>
int for_each_name(const std::string& folder, F&& f) {
  struct closes {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  const std::unique_ptr<DIR, closes> open(::opendir(folder.c_str()));
  if (!open) return errno;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) return errno;
    f(std::string_view(entry->d_name));
  }
}

// The names in a folder, in no order; none if there is no folder. Throws file_error if there may be one that cannot be read.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  const int reason = for_each_name(folder, [&](std::string_view name) { out.emplace_back(name); });
  if (reason != 0 && reason != ENOENT)
    throw file_error("cannot read the folder '" + folder + "': " + std::strerror(reason) +
                     "; what is in it is not known, so that nothing is begun anew");
  return out;
}

// Removes the parts that killed writers left, of all files in a folder whose names begin with `begin`. A writer holds a lock
// on its part, see replacement. A part that can be locked therefore has no writer, whatever container, process number or
// machine it came from. On a file system without locks the parts stay; they do no harm.
inline void remove_dead_parts(const std::string& folder, std::string_view begin) {
  const auto is_part = [&](std::string_view name) {
    const std::size_t at = name.rfind(".part-");
    if (at == name.npos || !name.starts_with(begin)) return false;
    const std::string_view numbers = name.substr(at + 6);
    return numbers.find('-') != numbers.npos && numbers.find_first_not_of("0123456789-") == numbers.npos;
  };
  for_each_name(folder, [&](std::string_view name) {
    if (!is_part(name)) return;
    const std::string path = folder + "/" + std::string(name);
    open_file part(path, O_RDWR | O_NOFOLLOW);
    if (part.size() != open_file::no_size && part.lock() && part.is_at(path)) ::unlink(path.c_str());
  });
}

// A file that replaces another one: it is written beside the old file, then renamed over it. A symbolic link stays and the
// file that it points to is replaced; mode and owner stay. A pipe or a device such as /dev/null or /dev/stdout is written in
// place.
class replacement {
public:
  explicit replacement(const std::string& path) : asked_(path), path_(path) {
    struct stat old{};
    follow_links();
    const bool exists = ::stat(path_.c_str(), &old) == 0;
    if (in_place_ || (exists && (S_ISCHR(old.st_mode) || S_ISFIFO(old.st_mode)))) {
      in_place_ = true;
      file_.emplace(path_, O_WRONLY | O_APPEND | O_NOCTTY);
      if (!*file_) fail("write into");
      return;
    }
    if (exists && S_ISDIR(old.st_mode)) errno = EISDIR, fail("replace");
    if (exists && !S_ISREG(old.st_mode)) errno = EEXIST, fail("replace what is no ordinary file,");
    folder_ = folder_of(path_);
    remove_dead_parts(folder_, path_.substr(path_.find_last_of('/') + 1) + ".part-");
    make_part();
    // Before anything is written, else others could read what only the owner may read.
    if (exists) {
      if (old.st_uid != ::geteuid() || old.st_gid != ::getegid()) file_->give_to(old.st_uid, old.st_gid);
      if (!file_->set_mode(old.st_mode & 0777U)) fail("keep the mode of");
    }
  }
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;

  open_file& file() { return *file_; }
  // Allocates nothing: either throws and leaves the old file, or succeeds.
  void finish() {
    if (in_place_) {
      if (!file_->close()) fail("close");
      return;
    }
    if (!file_->sync()) fail("sync");
    // The part stays open, and so locked, until it has its final name.
    if (std::rename(part_.name.c_str(), path_.c_str()) != 0) fail("replace");
    part_.name.clear();
    file_->close();
    sync_folder(folder_); // the new name is safe only when its folder is
  }
  [[noreturn]] void fail(const char* what) const {
    const int reason = errno;
    throw file_error("write_file_atomically: cannot " + std::string(what) + " '" + asked_ +
                     "': " + (in_place_ && reason == ENXIO ? "nobody reads this pipe" : std::strerror(reason)) +
                     ". Its folder must exist, be writable and have room.");
  }

private:
  // A dangling link names the file to make. A link of /proc is an open file and is written in place, because a new file of
  // its name would be another one. /dev/stdout is such a link if a shell has redirected it to a file.
  void follow_links() {
    std::string to(4096, '\0');
    for (int links = 0; !in_place_; ++links) {
      const ssize_t length = ::readlink(path_.c_str(), to.data(), to.size());
      if (length < 0) return;
      if (links == 40) errno = ELOOP, fail("follow the links of");
      in_place_ = path_.starts_with("/proc/") || path_.starts_with("/dev/fd/");
      if (in_place_) return;
      const std::string_view target(to.data(), static_cast<std::size_t>(length));
      path_ = (target.starts_with('/') ? "" : folder_of(path_)) + std::string(target);
    }
  }
  // Makes the part in the same folder, because a rename cannot cross file systems. Its name has the process id and a number,
  // because others may be writing the same file. A name that exists belongs to a process in another container, or to a killed
  // one that had the same id.
  void make_part() {
    static std::atomic<unsigned> serial{0};
    const std::string stem = path_ + ".part-" + std::to_string(::getpid()) + "-";
    for (;;) {
      std::string name = stem + std::to_string(serial.fetch_add(1));
      file_.emplace(name, O_WRONLY | O_CREAT | O_EXCL);
      if (!*file_ && errno == EEXIST) continue;
      if (!*file_) fail("create a file beside");
      // Between these two calls the part is not locked, so another process may have taken it for dead and removed it. Then
      // the next one is made.
      const bool lost = file_->lock() ? !file_->is_at(name) : errno == EWOULDBLOCK;
      if (lost) continue;
      part_.name = std::move(name);
      return;
    }
  }

  struct removed_file { // unless it has its final name, or was never made
    std::string name;
    ~removed_file() {
      if (!name.empty()) ::unlink(name.c_str());
    }
  };

  std::string asked_, path_, folder_;
  removed_file part_;
  bool in_place_ = false;
  std::optional<open_file> file_;
};

// Replaces the contents of the file by what write(open_file&) writes; `write` returns false if it fails. See
// write_file_atomically.
template <class Write>
void replace_file(const std::string& path, Write&& write) {
  replacement to(path);
  if (!write(to.file())) to.fail("write");
  to.finish();
}

} // namespace cairn::detail

namespace cairn::files {

// Makes `text` the whole contents of the file. A reader sees the old contents or the new ones, never a part, and so does the
// next start after a crash: the text is written beside the file under another name, synced, then renamed over it. Throws
// file_error and leaves the old file alone when any of that fails. A symbolic link, the mode and the owner of the file stay;
// a pipe or a device such as /dev/stdout is written in place.
inline void write_file_atomically(const std::string& path, std::string_view text) {
  detail::replace_file(path, [text](detail::open_file& file) { return file.write(text); });
}

} // namespace cairn::files
