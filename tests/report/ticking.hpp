// SPDX-License-Identifier: MIT
// A cpu whose stopwatch is a counter: each look comes a microsecond after the last. The host's clock moves on by a millisecond at
// every look.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <cairn/device/cpu.hpp>

namespace testing {

struct ticking : cairn::cpu {
  struct queue : cairn::cpu::queue {
    using cairn::cpu::queue::queue;
    class stopwatch {
    public:
      static constexpr std::int64_t least = 1;
      stopwatch(queue&, std::size_t) {}
      std::size_t mark() { return places_++; }
      std::int64_t nanoseconds(std::size_t k) const { return 1000 * static_cast<std::int64_t>(k); }
      void restart() { places_ = 0; }

    private:
      std::size_t places_ = 0;
    };
  };
  explicit ticking(cairn::cpu::options) {}
  queue& compute() { return line; }
  queue& transfers() { return line; }
  queue line{1};
};

struct ticking_clock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<ticking_clock, duration>;
  static time_point now() {
    static thread_local std::int64_t looks = 0;
    return time_point(std::chrono::milliseconds(++looks));
  }
};

} // namespace testing
