// SPDX-License-Identifier: MIT
// Every allocation of a program is counted, on every thread. One file of the program includes this. Not inlined, or g++ takes
// new and free for a mismatched pair.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace testing {
inline std::atomic<std::size_t> allocations{0};
inline std::atomic<std::size_t> allocated_bytes{0};
} // namespace testing

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++testing::allocations;
  testing::allocated_bytes += bytes;
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++testing::allocations;
  testing::allocated_bytes += bytes;
  const auto to = static_cast<std::size_t>(alignment);
  if (void* const block = std::aligned_alloc(to, (bytes + to - 1) / to * to)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
