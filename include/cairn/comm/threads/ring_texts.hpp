// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <cairn/comm/different_calls.hpp>
#include <cairn/comm/threads/call_ring.hpp>

namespace cairn::detail {

// Texts for the errors of threads::run, which count calls from 1.
class ring_texts {
public:
  explicit ring_texts(const call_ring& calls) : calls_(calls) {}

  std::string rank(int rank) const { return "threads: rank " + std::to_string(rank) + " of " + std::to_string(calls_.size()); }
  std::string prefix(int rank, std::uint64_t call, const rank_call& asked) const {
    return this->rank(rank) + ", call " + std::to_string(call + 1) + ", " + asked.text() + ": ";
  }
  // The ranks that have not started the call.
  std::string missing(std::uint64_t call) const {
    std::string late;
    for (int rank = 0; rank < calls_.size(); ++rank)
      if (const std::uint64_t calls = calls_.started(rank); calls <= call)
        late += (late.empty() ? "rank " : ", rank ") + std::to_string(rank) + " (" + std::to_string(calls) + " calls started)";
    return late;
  }
  std::string late(std::uint64_t call, std::chrono::milliseconds limit) const {
    const std::string ranks = missing(call);
    return "call " + std::to_string(call + 1) +
           (ranks.empty() ? " was started by all ranks, but was not over" : " was not started by " + ranks) + " within " +
           std::to_string(limit.count()) + " ms";
  }
  // For a line on stderr about a wait that goes on.
  std::string waits(int rank, std::uint64_t call) const {
    return this->rank(rank) + " waits in " + calls_.asked(rank, call).text_with_purpose() + " for " + missing(call);
  }
  std::string away(int rank, bool has_returned, int other, std::uint64_t calls) const {
    return "rank " + std::to_string(rank) + (has_returned ? " returned after " : " recovers after ") + std::to_string(calls) +
           " calls, but rank " + std::to_string(other) + " has started call " + std::to_string(calls + 1);
  }
  // For a call that all ranks have started, with different arguments.
  std::string different(std::uint64_t call) const {
    std::vector<told_call> told;
    for (int rank = 0; rank < calls_.size(); ++rank) told.push_back({call, calls_.asked(rank, call).text_with_purpose()});
    return text_of_different_calls(told);
  }

private:
  const call_ring& calls_;
};

} // namespace cairn::detail
