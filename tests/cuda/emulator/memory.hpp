// SPDX-License-Identifier: MIT
// The memory of GPUs. The host cannot read or write it at its addresses: the emulator has a second mapping of the same bytes. An
// address is never used twice, so memory that was given back is out of bounds for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "order.hpp"

namespace emulator {

// An access to a word, the latest of its kind. Within a launch, accesses of a block are in order if a barrier is between them,
// and those of a warp also if bar.warp.sync is.
struct touch {
  std::uint32_t op = 0;       // the launch or copy; 0: there was none
  std::uint32_t block = 0;    // of the launch
  std::uint32_t barriers = 0; // that the block had passed
  std::uint16_t thread = 0;
  std::uint16_t meetings = 0; // that the thread's warp had had
  std::uint8_t bytes = 0;     // of the word: a bit for each
};
struct word {               // 4 bytes
  touch write, read, other; // `other`: the last read but one
};

struct allocation {
  std::uint64_t first = 0;
  std::size_t bytes = 0;
  int gpu = 0;
  word* words = nullptr;
  std::vector<bool> is_written; // of each word
  std::uint32_t filled_by = 0;  // the op that wrote all of it before anything else touched it
  bool is_touched = false;
};

class device_memory {
public:
  device_memory();
  void* take(std::size_t bytes, int gpu);
  bool give_back(const void* block); // false if it is none, or was given back
  allocation* of(std::uint64_t address);
  allocation* of(const void* address) { return of(reinterpret_cast<std::uint64_t>(address)); }
  // The bytes that are at an address of a GPU.
  std::byte* contents(std::uint64_t address) const { return reinterpret_cast<std::byte*>(address) + distance_; }

private:
  std::byte* host_ = nullptr; // nobody reads or writes here
  std::ptrdiff_t distance_ = 0;
  std::size_t next_ = 0;
  int file_ = -1;
  std::map<std::uint64_t, allocation> blocks_;
  allocation* last_ = nullptr;
};
device_memory& memory();
order& streams();

// Notes that the latest op of all, which is no kernel, reads or writes these bytes of a GPU, and reports what is wrong with it.
// Returns false if they are not all in one allocation.
bool touch_range(const std::string& what, const void* at, std::size_t bytes, bool writes);

} // namespace emulator
