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

namespace cairn {

namespace detail {

// An open file; it is closed with the object. POSIX calls, because std::ofstream can neither sync nor refuse a name that
// exists, and because <fstream> and <filesystem> cost every user of the library a tenth of a second. A path is a
// std::string everywhere; a std::filesystem::path becomes one by itself. What fails leaves its reason in errno.
class open_file {
public:
  static constexpr std::uint64_t no_size = static_cast<std::uint64_t>(-1);

  // A pipe in the place of a file would wait here for its other end, without a deadline: O_NONBLOCK, which ordinary files do
  // not know, is taken back when it is open.
  open_file(const std::string& path, int flags) {
    do number_ = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
    while (number_ < 0 && errno == EINTR);
    if (number_ >= 0) ::fcntl(number_, F_SETFL, flags & ~O_NONBLOCK);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() { close(); }

  explicit operator bool() const { return number_ >= 0; }

  // Bytes, or no_size where it is not open or is no ordinary file; fault() says why then.
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
  // Exactly so many bytes from an offset; false where the file has fewer, and errno is 0 then.
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
  // False, and EWOULDBLOCK, while another one has it locked. It ends with the object, or with the process.
  bool lock() { return ::flock(number_, LOCK_EX | LOCK_NB) == 0; }
  // Whether it is the file of this name, which might have been removed or replaced.
  bool is_at(const std::string& path) const {
    struct stat own{}, named{};
    return ::fstat(number_, &own) == 0 && ::lstat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
           own.st_ino == named.st_ino;
  }
  bool set_mode(mode_t mode) {
    struct stat own{};
    return ::fstat(number_, &own) == 0 && ((own.st_mode & 07777U) == mode || ::fchmod(number_, mode) == 0);
  }
  // Only root may give a file away, and nobody needs to.
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

// A file whose bytes are not known: the system did not open it, or did not read it. That says nothing about what is in it.
class unreadable_file : public file_error {
public:
  using file_error::file_error;
};

inline bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// The folder of a file, with a slash at its end; "./" of a name alone.
inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == path.npos ? "./" : path.substr(0, slash + 1);
}
// Makes the names in a folder last. Some file systems refuse to sync a folder, and one that may not be read cannot be opened:
// there is nothing to do then.
inline void sync_folder(const std::string& folder) {
  open_file names(folder, O_RDONLY);
  if (names) names.sync();
}

// Calls f(name) for all that is in a folder. Gives 0, or the reason why it cannot be read.
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

// The names in a folder, in no order; none where there is no folder. Throws file_error where there may be one, and it cannot be
// read.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  const int reason = for_each_name(folder, [&](std::string_view name) { out.emplace_back(name); });
  if (reason != 0 && reason != ENOENT)
    throw file_error("cannot read the folder '" + folder + "': " + std::strerror(reason) +
                     "; what is in it is not known, so that nothing is begun anew");
  return out;
}

// Removes the parts of files that processes left which were killed while they wrote: of all files in a folder whose names begin
// so. A writer holds a lock on its part, see replacement: one that can be locked has none, in whatever container, with whatever
// number of a process, and on whatever machine it was. A file system without locks keeps its parts, which do no harm.
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

// A file on its way to replace another one: written beside it, then renamed over it. What is behind a symbolic link is replaced,
// not the link; mode and owner stay. A pipe and a device such as /dev/null or /dev/stdout are written into.
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
    // Before anything is in it, or what only its owner may read would be read by others.
    if (exists) {
      if (old.st_uid != ::geteuid() || old.st_gid != ::getegid()) file_->give_to(old.st_uid, old.st_gid);
      if (!file_->set_mode(old.st_mode & 0777U)) fail("keep the mode of");
    }
  }
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;

  open_file& file() { return *file_; }
  // Nothing here allocates: it either throws and leaves the old file, or is done.
  void finish() {
    if (in_place_) {
      if (!file_->close()) fail("close");
      return;
    }
    if (!file_->sync()) fail("sync");
    // The part stays open, and with it locked, until it has its name.
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
  // A link that leads nowhere yet says what file is to be made. One of /proc stands for a file that is open, which a file of
  // the same name would not be: /dev/stdout, where a shell has sent it to a file.
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
  // In the same folder, as a rename cannot cross file systems; with the process and a number, as others may be writing the
  // same file. A name that is there is another's: of a process in another container, or of one that was killed and had the
  // same number.
  void make_part() {
    static std::atomic<unsigned> serial{0};
    const std::string stem = path_ + ".part-" + std::to_string(::getpid()) + "-";
    for (;;) {
      std::string name = stem + std::to_string(serial.fetch_add(1));
      file_.emplace(name, O_WRONLY | O_CREAT | O_EXCL);
      if (!*file_ && errno == EEXIST) continue;
      if (!*file_) fail("create a file beside");
      // Between these two calls it looked as if its writer were gone: then it is removed, and the next one is made.
      const bool lost = file_->lock() ? !file_->is_at(name) : errno == EWOULDBLOCK;
      if (lost) continue;
      part_.name = std::move(name);
      return;
    }
  }

  struct removed_file { // unless it has got its name, or has none yet
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

// Makes what write(open_file&) writes the whole contents of the file; it gives false where it fails. See
// write_file_atomically.
template <class Write>
void replace_file(const std::string& path, Write&& write) {
  replacement to(path);
  if (!write(to.file())) to.fail("write");
  to.finish();
}

} // namespace detail

// Makes `text` the whole contents of the file. A reader sees the old contents or the new ones, never a part,
// and so does the next start after a crash: the text is written beside the file under another name, synced, then
// renamed over it. Throws file_error and leaves the old file alone when any of that fails. A symbolic link stays one, and mode
// and owner of the file stay; a pipe and a device such as /dev/stdout are written into.
inline void write_file_atomically(const std::string& path, std::string_view text) {
  detail::replace_file(path, [text](detail::open_file& file) { return file.write(text); });
}

} // namespace cairn
