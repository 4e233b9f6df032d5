// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include <cairn/core/error.hpp>

namespace cairn::detail {

// How many processors the calling thread may run on, at least 1. On Linux its affinity decides, which taskset, a container's
// cpuset and a launcher that binds ranks to cores set; a quota of time, such as a container's --cpus, is not seen. They are
// logical processors: two hardware threads of one core count as two.
inline std::size_t usable_cores() {
#if defined(__linux__) && defined(CPU_COUNT)
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // It fails where there are more processors than the set has bits.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return static_cast<std::size_t>(CPU_COUNT(&allowed));
#endif
  const unsigned all = std::thread::hardware_concurrency(); // 0: not known
  return all > 0 ? all : 1;
}

// More threads than this in one operation are taken for a mistake, and so is a negative number that became an unsigned one.
inline constexpr std::size_t most_threads = 1024;

// The threads of one of `ranks` ranks that share these cores: the number that was asked for, or with 0 its share of the
// cores, at least 1.
inline std::size_t threads_for(std::size_t asked, std::size_t ranks, std::size_t cores = usable_cores()) {
  if (asked > most_threads)
    throw input_error("threads: expected 0, which is a rank's share of the cores, or 1 to " + std::to_string(most_threads) +
                      ", found " + std::to_string(static_cast<std::int64_t>(asked)));
  if (asked > 0) return asked;
  return ranks < cores ? cores / (ranks > 0 ? ranks : 1) : 1;
}

} // namespace cairn::detail
