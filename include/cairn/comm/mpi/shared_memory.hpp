// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/config.hpp>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace cairn::detail {

// Memory that several processes of one machine can access. It has no name in any folder, and is gone when the last of them ends,
// however it ends. It begins at a page and is zero at first. Nothing here throws or waits: if the system has no such memory, or
// this process may not access another's, the object is empty.
class shared_memory {
public:
  // Identifies the memory to another process: a file that this process has open, and the key at its start.
  struct handle {
    std::int64_t process = 0, file = -1;
    std::uint64_t bytes = 0;
    std::array<std::uint64_t, 2> key{};
  };

  shared_memory() = default;
  shared_memory(shared_memory&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)),
        file_(std::exchange(other.file_, -1)) {}
  shared_memory& operator=(shared_memory&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(size_, other.size_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~shared_memory() {
    hide();
#if defined(__linux__)
    if (start_ != nullptr) ::munmap(start_, page + size_);
#endif
  }

  std::byte* data() const { return start_ == nullptr ? nullptr : start_ + page; }
  std::size_t size() const { return size_; }

  // Returns new memory. Its pages are allocated at once: a process that writes to pages that the machine cannot provide would be
  // killed.
  static shared_memory make([[maybe_unused]] std::size_t bytes) {
    shared_memory made;
#if defined(__linux__)
    made.file_ = ::memfd_create(name.data(), MFD_CLOEXEC);
    if (made.file_ < 0 || ::posix_fallocate(made.file_, 0, static_cast<off_t>(page + bytes)) != 0) return {};
    if (!made.map(bytes)) return {};
    std::random_device random;
    std::array<std::uint64_t, 2> key{};
    for (std::uint64_t& k : key) k = (std::uint64_t{random()} << 32) | random();
    std::memcpy(made.start_, key.data(), sizeof key);
#endif
    return made;
  }

  // The handle for other processes; valid until hide().
  handle told() const {
    handle out;
#if defined(__linux__)
    out.process = ::getpid();
#endif
    out.file = file_;
    out.bytes = size_;
    if (start_ != nullptr) std::memcpy(out.key.data(), start_, sizeof out.key);
    return out;
  }

  // Opens the memory of another process, or this one's once more. The result is empty if the file does not match the handle, as
  // on another machine.
  static shared_memory open([[maybe_unused]] const handle& told) {
    shared_memory found;
#if defined(__linux__)
    if (told.file < 0) return {};
    const std::string path = "/proc/" + std::to_string(told.process) + "/fd/" + std::to_string(told.file);
    std::array<char, 64> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0 ||
        !std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with(std::string("/memfd:").append(name)))
      return {};
    found.file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat known{};
    if (found.file_ < 0 || ::fstat(found.file_, &known) != 0 || static_cast<std::uint64_t>(known.st_size) != page + told.bytes)
      return {};
    if (!found.map(told.bytes) || std::memcmp(found.start_, told.key.data(), sizeof told.key) != 0) return {};
    found.hide();
#endif
    return found;
  }

  // Processes that have it open keep it; no other process can open it from now on.
  void hide() {
#if defined(__linux__)
    if (file_ >= 0) ::close(file_);
#endif
    file_ = -1;
  }

private:
  static constexpr std::size_t page = 4096; // before the bytes, with the key
  static constexpr std::string_view name = "cairn";

#if defined(__linux__)
  bool map(std::size_t bytes) {
    void* const at = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) return false;
    start_ = static_cast<std::byte*>(at);
    size_ = bytes;
    return true;
  }
#endif

  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
  int file_ = -1;
};

} // namespace cairn::detail
