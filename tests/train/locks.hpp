// SPDX-License-Identifier: MIT
// Counts the locks of mutexes that a thread takes: the function of the C library that std::mutex calls is replaced by one that
// counts. Sanitizers replace it themselves; there, and in other C libraries, `counts_locks` is false.
#pragma once

#include <cstddef>

#include <dlfcn.h>
#include <pthread.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CAIRN_TEST_COUNTS_LOCKS 1
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#undef CAIRN_TEST_COUNTS_LOCKS
#define CAIRN_TEST_COUNTS_LOCKS 0
#endif
#endif
#else
#define CAIRN_TEST_COUNTS_LOCKS 0
#endif

namespace testing {

inline constexpr bool counts_locks = CAIRN_TEST_COUNTS_LOCKS != 0;
inline constinit thread_local std::size_t locks_here = 0; // those of this thread so far

} // namespace testing

#if CAIRN_TEST_COUNTS_LOCKS
// Weak, as several files of a program include this.
extern "C" [[gnu::noinline, gnu::weak]] int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using function = int (*)(pthread_mutex_t*);
  static constinit function of_library = nullptr; // several threads may find it at once: they find the same
  function found = __atomic_load_n(&of_library, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    __atomic_store_n(&of_library, found, __ATOMIC_RELAXED);
  }
  ++testing::locks_here;
  return found(mutex);
}
#endif
#undef CAIRN_TEST_COUNTS_LOCKS
