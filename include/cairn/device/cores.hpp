// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include <cairn/core/error.hpp>

namespace cairn::detail {

// The number of processors that the calling thread may run on, at least 1. On Linux its affinity decides, which taskset, a
// container's cpuset and a launcher that binds ranks to cores set; a quota of time, such as a container's --cpus, is not seen.
// They are logical processors: two hardware threads of one core count as two.
inline std::size_t usable_cores() {
#if defined(__linux__) && defined(CPU_COUNT)
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails if the machine has more processors than the set has bits.
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return static_cast<std::size_t>(CPU_COUNT(&allowed));
#endif
  const unsigned all = std::thread::hardware_concurrency(); // 0: not known
  return all > 0 ? all : 1;
}

// The processors on which the calling thread may run, a bit for each; all bits are set if they are unknown.
struct core_set {
  std::array<unsigned char, 128> bits{};

  static core_set usable() {
    core_set own;
    own.bits.fill(0xFF);
#if defined(__linux__) && defined(CPU_COUNT)
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    static_assert(sizeof allowed <= sizeof own.bits);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
      own.bits.fill(0);
      std::memcpy(own.bits.data(), &allowed, sizeof allowed);
    }
#endif
    return own;
  }

  // The number of these sets, this one included, that share a processor of this one: the maximum over its processors.
  int shared_by(std::span<const core_set> all) const {
    int most = 1;
    for (std::size_t byte = 0; byte < bits.size(); ++byte)
      for (int bit = 0; bit < 8; ++bit) {
        if ((bits[byte] >> bit & 1) == 0) continue;
        int users = 0;
        for (const core_set& one : all) users += one.bits[byte] >> bit & 1;
        most = users > most ? users : most;
      }
    return most;
  }
};

// More threads than this in one operation are treated as a mistake, as is a negative number converted to unsigned.
inline constexpr std::size_t most_threads = 1024;

// Threads for one of `ranks` ranks sharing these cores: `asked`, or, if that is 0, a share of the cores, at least 1.
inline std::size_t threads_for(std::size_t asked, std::size_t ranks, std::size_t cores = usable_cores()) {
  if (asked > most_threads)
    throw input_error("threads: expected 0, which is a rank's share of the cores, or 1 to " + std::to_string(most_threads) +
                      ", found " + std::to_string(static_cast<std::int64_t>(asked)));
  if (asked > 0) return asked;
  return ranks < cores ? cores / (ranks > 0 ? ranks : 1) : 1;
}

} // namespace cairn::detail
