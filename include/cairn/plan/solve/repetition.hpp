// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/cost_table.hpp>

namespace cairn::detail {

// Where a chain repeats itself: with this period, many stages are what the stage one period below each is. A stretch that
// is the copy of one further below need not be solved again: a thousand equal blocks have two thousand stretches that
// differ, not half a million.
template <std::size_t Stages>
struct repetition {
  std::size_t period = 0; // 0: it does not repeat itself
  plain_array<std::size_t, Stages>
      equal{}; // for each stage: how many from it downwards are the same one period below

  // How far below stretch [first, last] its first copy is. The stage before the stretch counts too, because what it
  // reads decides how the stretch can stand; the first stage has none before it, and so nobody's copy begins there.
  constexpr std::size_t steps_back(std::size_t first, std::size_t last, std::size_t stages) const {
    std::size_t back = 0; // a copy below a stage that is unlike the others may have copies of its own
    while (const std::size_t more = steps_back_once(first - back, last - back, stages)) back += more;
    return back;
  }

private:
  // The same within one run of stages that equal those below.
  constexpr std::size_t steps_back_once(std::size_t first, std::size_t last, std::size_t stages) const {
    if (period == 0 || last >= stages || first < period + 1) return 0;
    const std::size_t run = equal.data()[last];
    if (run < last - first + 2) return 0;
    const std::size_t lowest = last + 1 - run - period; // the first stage of the lowest copy of the whole run
    const std::size_t least = lowest + 1;               // with one before it
    return first > least ? (first - least) / period * period : 0;
  }
};

// The period of at most `longest` stages at which the most stages equal those below.
template <std::size_t Stages>
constexpr repetition<Stages> find_repetition(const entry* entries, std::size_t stages,
                                             std::size_t longest = 16) {
  repetition<Stages> best{};
  best.equal.make_room(stages);
  std::size_t most = 0;
  for (std::size_t period = 1; period <= longest && 2 * period <= stages; ++period) {
    std::size_t count = 0;
    for (std::size_t i = period; i < stages; ++i) count += entries[i] == entries[i - period] ? 1 : 0;
    if (count <= most) continue;
    most = count;
    best.period = period;
  }
  std::size_t* const equal = best.equal.data();
  for (std::size_t i = best.period; i < stages && best.period > 0; ++i)
    equal[i] = entries[i] == entries[i - best.period] ? (i > 0 ? equal[i - 1] : 0) + 1 : 0;
  return best;
}

} // namespace cairn::detail
