// SPDX-License-Identifier: MIT
// Counts a program's allocations, lets those of a thread fail and measures the bytes that it holds. Allocations too large for any
// machine here are refused before a sanitizer sees them, which would end the program. The operators are weak, as several files of
// a program include this, and not inlined: g++ 12 would see a malloc on one side and a delete on the other, and warn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>

#include <cairn/core/memory.hpp>

namespace testing {

inline constexpr std::size_t largest_allocation = std::size_t{256} << 30U; // 256 GiB
inline std::atomic<std::size_t> allocations{0}, allocated_bytes{0};
inline std::atomic<std::size_t> aligned_bytes{0}; // of allocations with an alignment, as those of a cpu are

// The allocations of one thread.
struct thread_memory {
  static constexpr std::size_t endless = ~std::size_t{0};
  std::size_t allocations_left = endless; // the one after them fails
  bool stays_out = false;                 // and so do all later ones
  bool ran_out = false;                   // one has failed
  bool is_measured = false;
  std::size_t held = 0, most_held = 0; // bytes, by the allocator's count
};
inline constinit thread_local thread_memory memory_here;

// While this lives, the memory of this thread runs out after `behind` allocations: for one allocation, or for good.
struct memory_runs_out {
  memory_runs_out(std::size_t behind, bool stays_out) {
    memory_here.allocations_left = behind;
    memory_here.stays_out = stays_out;
    memory_here.ran_out = false;
  }
  memory_runs_out(const memory_runs_out&) = delete;
  memory_runs_out& operator=(const memory_runs_out&) = delete;
  ~memory_runs_out() { memory_here.allocations_left = thread_memory::endless; }
  static bool has_run_out() {
    thread_memory& here = memory_here;
    if (here.allocations_left == thread_memory::endless) return false;
    if (here.allocations_left > 0) return --here.allocations_left, false;
    here.ran_out = true;
    if (!here.stays_out) here.allocations_left = thread_memory::endless;
    return true;
  }
};

// The most bytes that f() held at once.
template <class F>
std::size_t most_held_by(F&& f) {
  memory_here.held = memory_here.most_held = 0;
  memory_here.is_measured = true;
  f();
  memory_here.is_measured = false;
  return memory_here.most_held;
}

inline void* taken(void* block, std::size_t bytes) {
  if (block == nullptr) throw std::bad_alloc();
  ++allocations;
  allocated_bytes += bytes;
  if (thread_memory& here = memory_here; here.is_measured)
    here.most_held = std::max(here.most_held, here.held += ::malloc_usable_size(block));
  return block;
}
inline void given(void* block) {
  if (memory_here.is_measured && block != nullptr) memory_here.held -= ::malloc_usable_size(block);
  std::free(block);
}

} // namespace testing

[[gnu::noinline, gnu::weak]] void* operator new(std::size_t bytes) {
  const bool fails = bytes >= testing::largest_allocation || testing::memory_runs_out::has_run_out();
  return testing::taken(fails ? nullptr : std::malloc(bytes == 0 ? 1 : bytes), bytes);
}
[[gnu::noinline, gnu::weak]] void* operator new(std::size_t bytes, std::align_val_t to) {
  const auto multiple = static_cast<std::size_t>(to);
  const bool fails = bytes >= testing::largest_allocation || testing::memory_runs_out::has_run_out();
  testing::aligned_bytes += bytes;
  return testing::taken(fails ? nullptr : std::aligned_alloc(multiple, cairn::detail::align_up(bytes, multiple)), bytes);
}
// The standard library's new[] calls operator new anyway, but address sanitizer's does not.
[[gnu::noinline, gnu::weak]] void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
[[gnu::noinline, gnu::weak]] void operator delete[](void* p) noexcept { testing::given(p); }
[[gnu::noinline, gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { testing::given(p); }
[[gnu::noinline, gnu::weak]] void operator delete(void* p) noexcept { testing::given(p); }
[[gnu::noinline, gnu::weak]] void operator delete(void* p, std::size_t) noexcept { testing::given(p); }
[[gnu::noinline, gnu::weak]] void operator delete(void* p, std::align_val_t) noexcept { testing::given(p); }
[[gnu::noinline, gnu::weak]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { testing::given(p); }
