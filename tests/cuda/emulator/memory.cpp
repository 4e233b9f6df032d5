// SPDX-License-Identifier: MIT
#include <algorithm>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "findings.hpp"
#include "memory.hpp"

namespace emulator {

namespace {

constexpr std::size_t all = std::size_t{1} << 38, page = 4096; // of addresses; memory is taken when it is written
std::size_t words_in(std::size_t bytes) { return std::max<std::size_t>(1, (bytes + 3) / 4); }
std::byte* mapped(std::byte* at) {
  return at == MAP_FAILED ? throw std::runtime_error("emulator: expected 256 GiB of addresses, found fewer") : at;
}

} // namespace

device_memory::device_memory() {
  file_ = ::memfd_create("memory of emulated GPUs", MFD_CLOEXEC);
  if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(all)) != 0)
    throw std::runtime_error("emulator: expected a file in memory, found none");
  const auto map = [&](int rights) {
    return mapped(static_cast<std::byte*>(::mmap(nullptr, all, rights, MAP_SHARED | MAP_NORESERVE, file_, 0)));
  };
  host_ = map(PROT_NONE);
  distance_ = map(PROT_READ | PROT_WRITE) - host_;
}
void* device_memory::take(std::size_t bytes, int gpu) {
  const std::size_t whole = (bytes + page - 1) / page * page + page; // the last page is nobody's
  if (whole > all - next_) return nullptr;
  std::byte* const at = host_ + next_;
  next_ += whole;
  void* const words =
      ::mmap(nullptr, words_in(bytes) * sizeof(word), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (words == MAP_FAILED) return nullptr;
  const auto first = reinterpret_cast<std::uint64_t>(at);
  blocks_[first] = {first, bytes, gpu, static_cast<word*>(words), std::vector<bool>(words_in(bytes)), 0, false};
  last_ = nullptr;
  return at;
}
bool device_memory::give_back(const void* block) {
  const auto found = blocks_.find(reinterpret_cast<std::uint64_t>(block));
  if (found == blocks_.end()) return false;
  const allocation& own = found->second;
  ::munmap(own.words, words_in(own.bytes) * sizeof(word));
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<const std::byte*>(block) - host_,
              static_cast<off_t>((own.bytes + page - 1) / page * page));
  blocks_.erase(found);
  last_ = nullptr;
  return true;
}
allocation* device_memory::of(std::uint64_t address) {
  if (last_ != nullptr && address - last_->first < last_->bytes) return last_;
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin() || address - (--next)->second.first >= next->second.bytes) return nullptr;
  return last_ = &next->second;
}

device_memory& memory() {
  static auto& only = *new device_memory;
  return only;
}
order& streams() {
  static auto& only = *new order;
  return only;
}

bool touch_range(const std::string& what, const void* at, std::size_t bytes, bool writes) {
  if (bytes == 0) return true;
  allocation* const own = memory().of(at);
  const std::uint64_t offset = own == nullptr ? 0 : reinterpret_cast<std::uint64_t>(at) - own->first;
  if (own == nullptr || bytes > own->bytes - offset) return false;
  const std::uint32_t op = streams().latest();
  const auto overlaps = [&](std::uint32_t earlier) {
    return earlier != 0 && earlier != op && !streams().is_before_latest(earlier);
  };
  const std::size_t first = offset / 4, end = (offset + bytes + 3) / 4;
  if (overlaps(own->filled_by)) report(what, "overlaps in time with a write of another stream");
  if (writes && bytes == own->bytes && !own->is_touched) { // as the memset that follows an allocation
    own->is_touched = true;
    own->filled_by = op;
    own->is_written.assign(own->is_written.size(), true);
    return true;
  }
  own->is_touched = true;
  for (std::size_t i = first; i < end; ++i) {
    word& w = own->words[i];
    if (overlaps(w.write.op)) report(what, "overlaps in time with a write of another stream");
    if (writes && (overlaps(w.read.op) || overlaps(w.other.op))) report(what, "overlaps in time with a read of another stream");
    if (writes) w.write = {op, 0, 0, 0, 0, 15};
    else if (w.read.op != op) w.other = w.read, w.read = {op, 0, 0, 0, 0, 15};
    if (writes) own->is_written[i] = true;
  }
  return true;
}

} // namespace emulator
