// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/plan/solve/cost_table.hpp>

namespace cairn::detail {

// The part of a chain that repeats itself: each of the stages [lowest + period, end) equals the stage one period below it. A
// stretch that is the copy of one further below need not be solved again: a thousand equal blocks have two thousand different
// stretches, not half a million.
struct repetition {
  std::size_t period = 0; // 0: it does not repeat itself
  std::size_t lowest = 0;
  std::size_t end = 0;

  // From this stage on, stretches are copies if they end below `end`. The stage before a stretch counts too, because what it
  // reads decides which standings the stretch can have.
  constexpr std::size_t copies() const { return lowest + 1 + period; }
  // The number of stages of a chain of `stages` without the copies.
  constexpr std::size_t different(std::size_t stages) const { return period == 0 ? stages : copies() + stages - end; }

  // The distance from stretch [first, last] down to its first copy, if only every n-th copy counts, with n = `every`.
  constexpr std::size_t steps_back(std::size_t first, std::size_t last, std::size_t every = 1) const {
    const std::size_t distance = every * period;
    if (period == 0 || last >= end || first < lowest + 1 + distance) return 0;
    return (first - lowest - 1) / distance * distance;
  }
};

// The longest run of stages that repeat themselves at a period of at most `longest`, if that is more than half of the chain.
constexpr repetition find_repetition(const entry* entries, std::size_t stages, std::size_t longest = 16) {
  repetition best{};
  std::size_t most = stages / 2;
  for (std::size_t period = 1; period <= longest && 2 * period <= stages; ++period) {
    std::size_t run = 0;
    for (std::size_t i = period; i < stages; ++i) {
      run = entries[i] == entries[i - period] ? run + 1 : 0;
      if (run <= most) continue;
      most = run;
      best = {period, i + 1 - run - period, i + 1};
    }
  }
  return best;
}

} // namespace cairn::detail
