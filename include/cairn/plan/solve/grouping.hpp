// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/repetition.hpp>

namespace cairn::detail {

// A stage as one of a group.
struct group {
  std::size_t last = 0;    // stage of the group
  bool starts = false;     // the group begins with this stage; then, of all its stages but the last:
  std::size_t walked = 0;  // the most bytes of forwards that store nothing
  std::uint64_t cost = 0;  // of these forwards
  bool ends = false;       // a long stretch may end with this stage
  std::uint64_t below = 0; // the cost of the forwards and backwards of all stages below this one
};

// How many stages make a group: one, if the whole chain can be solved in about `most` steps; else one of `groups` parts.
constexpr std::size_t group_length(const entry* entries, std::size_t stages, std::size_t most, std::size_t groups) {
  const repetition r = find_repetition(entries, stages);
  const std::size_t different = r.period == 0 ? stages : r.copies() + stages - r.end;
  return different * stages * stages <= most ? 1 : (stages + groups - 1) / groups;
}

// A chain cut into groups of stages, where values are small, as there a checkpoint is cheap. What is solved are the
// stretches inside of a group, and those that begin or end with one: their number grows with the stages times the groups,
// and no longer with the square of the stages. In a chain that repeats itself all copies are cut alike.
template <std::size_t Stages>
struct grouping {
  plain_array<group, plus(Stages, 2)> of{};
  repetition repeats{};

  // Groups of about `length` stages.
  constexpr grouping(const cost_table<Stages>& table, std::size_t stages, std::size_t length)
      : of(stages + 2), repeats(find_repetition(table.items, stages)) {
    const entry* const entries = table.items;
    group* const all = of.items;
    all[0].starts = all[stages].starts = all[stages + 1].starts = true;
    cut_all(entries, stages, length);
    for (std::size_t i = stages + 1, last = stages; i-- > 0;) {
      group& g = all[i];
      // A backward that reads no input may come first, and then the stages below it are left.
      g.ends = all[i + 1].starts || (all[i + 1].ends && !entries[i + 1].reads_input);
      if (all[i + 1].starts) last = i;
      g.last = last;
    }
    // A stretch is a copy only as far as its ends are those of the first copy.
    for (std::size_t i = repeats.lowest + repeats.period; i < repeats.end; ++i)
      if (all[i].ends != all[i - repeats.period].ends) repeats.end = i;
    std::size_t first = 0; // stage of the group
    for (std::size_t i = 1; i <= stages; ++i) {
      const entry& e = entries[i - 1];
      all[i].below = all[i - 1].below + e.cost.forward + e.cost.backward;
      if (all[i].starts) first = i;
      if (i == first) continue;
      const std::size_t plain = e.input + (e.in_place_forward ? 0 : e.output) + e.plain_workspace;
      if (all[first].walked < plain) all[first].walked = plain;
      all[first].cost += e.cost.forward;
    }
  }

private:
  constexpr void cut_all(const entry* entries, std::size_t stages, std::size_t length) {
    const std::size_t period = repeats.period;
    if (period != 0 && length < period)
      while (period % length != 0) ++length;
    else if (period != 0) repeats.lengthen(length = (length + period - 1) / period * period);
    if (repeats.period == 0) return cut(entries, 0, stages, length);
    const std::size_t first = repeats.lowest + repeats.period; // copy
    cut(entries, 0, repeats.lowest, length);
    cut(entries, repeats.lowest, first, length);
    for (std::size_t i = first; i < repeats.end; ++i) of.items[i].starts = of.items[i - repeats.period].starts;
    cut(entries, repeats.end, stages, length);
  }
  // The stages [first, end) in groups of about `length`.
  constexpr void cut(const entry* entries, std::size_t first, std::size_t end, std::size_t length) {
    if (first == end) return;
    of.items[first].starts = true;
    for (std::size_t at = first + length; at + length / 2 < end;) {
      std::size_t best = at;
      for (std::size_t d = 1; 2 * d <= length; ++d) {
        if (entries[at - d].input < entries[best].input) best = at - d;
        if (at + d < end && entries[at + d].input < entries[best].input) best = at + d;
      }
      of.items[best].starts = true;
      at = best + length;
    }
  }
};

} // namespace cairn::detail
