// SPDX-License-Identifier: MIT
// Runs calls on several threads at the same time.
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace testing {

// Starts `threads` threads together, lets each make `times` calls, and returns how many results differ from that of the same
// call made alone. Each thread goes through the calls in turn, beginning with a different one.
inline std::size_t wrong_at_once(std::size_t threads, std::size_t times,
                                 const std::vector<std::function<std::vector<float>()>>& calls) {
  std::vector<std::vector<float>> alone;
  for (const auto& call : calls) alone.push_back(call());
  std::atomic<std::size_t> wrong{0};
  std::barrier<> gate(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      gate.arrive_and_wait();
      for (std::size_t i = t; i < t + times; ++i)
        if (calls[i % calls.size()]() != alone[i % calls.size()]) ++wrong;
    });
  for (std::thread& one : all) one.join();
  return wrong;
}

// Calls f(thread) on each of `threads` threads.
template <class F>
void on_threads(std::size_t threads, const F& f) {
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t) all.emplace_back([&f, t] { f(t); });
  for (std::thread& one : all) one.join();
}

} // namespace testing
