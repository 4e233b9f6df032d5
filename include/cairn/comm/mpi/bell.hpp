// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

#include <semaphore.h>

namespace cairn::detail {

inline std::timespec time_after(clockid_t of, std::chrono::nanoseconds time) {
  std::timespec until{};
  ::clock_gettime(of, &until);
  const std::int64_t nanoseconds = until.tv_nsec + time.count();
  until.tv_sec += static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  until.tv_nsec = static_cast<decltype(until.tv_nsec)>(nanoseconds % 1'000'000'000);
  return until;
}

// Returns when the semaphore is posted, after `time` at most, or earlier for no reason. It uses the steady clock if the C library
// can: a clock that is set back would make the sleep long.
inline void sleep_until_rung(sem_t& bell, std::chrono::nanoseconds time) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 30)
  const auto until = time_after(CLOCK_MONOTONIC, time);
  static_cast<void>(::sem_clockwait(&bell, CLOCK_MONOTONIC, &until));
#else
  const auto until = time_after(CLOCK_REALTIME, time);
  static_cast<void>(::sem_timedwait(&bell, &until));
#endif
}

} // namespace cairn::detail
