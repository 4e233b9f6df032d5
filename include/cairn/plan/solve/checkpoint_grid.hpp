// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/cost_table.hpp>

namespace cairn::detail {

// The part of a chain that repeats itself: each of the stages [lowest + period, end) equals the stage one period below it. A
// segment that is the copy of one further below need not be solved again: a thousand equal blocks have two thousand different
// segments, not half a million.
struct repetition {
  std::size_t period = 0; // 0: it does not repeat itself
  std::size_t lowest = 0;
  std::size_t end = 0;

  // From this stage on, segments are copies if they end below `end`. The stage before a segment counts too, because what it
  // reads decides which states the segment can have.
  constexpr std::size_t copies() const { return lowest + 1 + period; }
  // The number of stages of a chain of `stages` without the copies.
  constexpr std::size_t different(std::size_t stages) const { return period == 0 ? stages : copies() + stages - end; }

  // The distance from segment [first, last] down to its first copy, if only every n-th copy counts, with n = `every`.
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

// Decides which segments of a chain are solved. The grid has points of several levels at the borders between stages; border b
// is the one below stage b. Level 0 has a point at every border, each next level every second point of the one below: of two
// neighbours the better checkpoint stays, see is_better(). The chain's ends are points of all levels. The part between two
// points is a unit. A segment is solved if it has at most `most` units on the highest level that has both of its ends: a short
// one may begin and end anywhere, a long one has few places for it. If `solves_beginnings`, all segments that begin with the
// chain are solved: they decide the least memory.
//
// In a chain that repeats itself all copies have the same points until a level has one for each copy. On higher levels every
// second, fourth, eighth copy has one: a thousand equal stages have only a few segments to solve on each level.
template <std::size_t Stages>
class checkpoint_grid {
public:
  // Each level has about half of the points of the one below.
  static constexpr std::size_t most_levels(std::size_t stages) { return static_cast<std::size_t>(std::bit_width(stages)) + 1; }
  static constexpr std::size_t capacity = Stages == at_run_time ? at_run_time : most_levels(Stages) * (Stages + 2);

  std::size_t most;       // units of a segment
  std::size_t levels = 1; // with one, every segment is solved

  constexpr checkpoint_grid(const entry* entries, std::size_t stages, std::size_t most_units, bool solves_beginnings)
      : most(most_units), repeats_(find_repetition(entries, stages)), borders_(stages + 2), height_(stages + 2),
        below_(most_levels(stages) * (stages + 2)), points_(most_levels(stages) * (stages + 2)) {
    for (std::size_t i = 0; i < stages; ++i) forwards_ += entries[i].cost.forward;
    if (solves_beginnings) near_ = repeats_.period == 0 ? stages : repeats_.period < 4 ? 4 : repeats_.period;
    const std::size_t lowest = repeats_.period == 0 ? stages + 1 : repeats_.lowest + 1; // border of the repetition
    const std::size_t end = repeats_.period == 0 ? stages + 1 : repeats_.end;
    for (std::size_t inside = stages; inside >= most; ++levels) {
      halve(entries, 1, lowest);
      halve(entries, end, stages + 1);
      if (lowest < end) raise_copies(entries, lowest, end);
      inside = 0;
      for (std::size_t b = 1; b <= stages; ++b) inside += height_.items[b] == levels ? 1 : 0;
    }
    if (levels > 1 && lowest < end) --repeats_.end; // the border there is no copy
    height_.items[0] = height_.items[stages + 1] = static_cast<std::uint32_t>(levels - 1);
    for (std::size_t level = 0; level < levels; ++level)
      for (std::size_t b = 0, count = 0; b < borders_; ++b) {
        below_.items[level * borders_ + b] = static_cast<std::uint32_t>(count);
        if (height_.items[b] >= level) points_.items[level * borders_ + count++] = static_cast<std::uint32_t>(b);
      }
  }

  // The highest level that has a border.
  constexpr std::size_t height(std::size_t border) const { return height_.items[border]; }
  // The number of points of a level below a border, which is also the number of the point at that border; by level and border.
  constexpr const std::uint32_t* counts() const { return below_.items; }
  constexpr std::size_t below(std::size_t level, std::size_t border) const { return below_.items[level * borders_ + border]; }
  constexpr std::size_t point(std::size_t level, std::size_t number) const { return points_.items[level * borders_ + number]; }
  constexpr std::size_t points(std::size_t level) const { return below(level, borders_ - 1) + 1; }
  constexpr std::size_t units(std::size_t level, std::size_t first, std::size_t end) const {
    return below(level, end) - below(level, first);
  }

  // Is the segment of the stages [first, end) solved?
  constexpr bool solves(std::size_t first, std::size_t end) const { return (first == 0 && near_ != 0) || is_short(first, end); }
  // Has it at most `most` units on the highest level that has both of its ends?
  constexpr bool is_short(std::size_t first, std::size_t end) const {
    const std::size_t a = height_.items[first], b = height_.items[end];
    const std::uint32_t* const below = below_.items + (a < b ? a : b) * borders_;
    return below[end] - below[first] <= most;
  }
  // A segment [0, end) may be split at its last borders, from this one on, whether or not the part below is short. In a chain
  // that repeats itself these are few, and a long segment is split only there: a thousand stages would have half a million
  // splits otherwise.
  constexpr std::size_t near_end(std::size_t end) const { return near_ == 0 ? end : end > near_ ? end - near_ : 0; }
  constexpr bool is_split_near(std::size_t end) const { return near_ != 0 && below(height_.items[end], end) > most; }
  // The lowest level on which a segment has at most `most` units. It is split at points of this level, or of the one below.
  constexpr std::size_t level_of(std::size_t first, std::size_t end) const {
    std::size_t level = 0;
    for (const std::uint32_t* below = below_.items; below[end] - below[first] > most; below += borders_) ++level;
    return level;
  }
  // The distance from a segment of this level down to its first copy.
  constexpr std::size_t steps_back(std::size_t first, std::size_t last, std::size_t level) const {
    return repeats_.steps_back(first, last, level <= alike_ ? 1 : std::size_t{1} << (level - alike_));
  }

  // Segments that end up to here may be copies.
  constexpr std::size_t last_copy() const { return repeats_.period == 0 ? 0 : repeats_.end; }

private:
  // Is the value at one border a better checkpoint than that at another? Of neighbours on level 0 the output of a costly stage is
  // better than that of a cheap one, which can be run again from there: with room for half of what Linear, LayerNorm, GELU, ...
  // store, it is best to keep what each Linear made. Else the smaller value is better.
  constexpr bool is_better(const entry* entries, std::size_t one, std::size_t other) const {
    const bool costly = is_costly(entries[one - 1]), other_costly = is_costly(entries[other - 1]);
    return levels == 1 && costly != other_costly ? costly : entries[one].input < entries[other].input;
  }
  // Does the stage cost at least half of the mean?
  constexpr bool is_costly(const entry& e) const { return 2 * (borders_ - 2) * e.cost.forward >= forwards_; }

  // Keeps one of each two points of the highest level between two borders for the next level. A last one without a neighbour
  // takes the place of the one kept before it, if it is better.
  constexpr void halve(const entry* entries, std::size_t first, std::size_t end) {
    std::size_t other = 0, kept = 0;
    for (std::size_t b = first; b < end; ++b) {
      if (height_.items[b] + 1U != levels) continue;
      if (other == 0) {
        other = b;
        continue;
      }
      kept = is_better(entries, b, other) ? b : other;
      ++height_.items[kept];
      other = 0;
    }
    if (other == 0 || kept == 0 || !is_better(entries, other, kept)) return;
    --height_.items[kept];
    ++height_.items[other];
  }
  constexpr void raise_copies(const entry* entries, std::size_t lowest, std::size_t end) {
    std::size_t first = 0, count = 0; // points of the highest level in the first copy
    for (std::size_t b = lowest + repeats_.period; b-- > lowest;) {
      if (height_.items[b] + 1U != levels) continue;
      first = b;
      ++count;
    }
    if (count > 1) {
      ++alike_;
      halve(entries, lowest, lowest + repeats_.period);
      for (std::size_t b = lowest + repeats_.period; b < end; ++b) height_.items[b] = height_.items[b - repeats_.period];
    } else {
      const std::size_t distance = repeats_.period << (levels - alike_);
      for (std::size_t b = first; b < end; b += distance) ++height_.items[b];
    }
  }

  repetition repeats_;
  std::size_t near_ = 0;       // stages that may be split off anywhere from a segment that begins with the chain; 0: see solves()
  std::uint64_t forwards_ = 0; // the cost of all stages' forwards
  std::size_t alike_ = 0;      // the highest level with a point in each copy
  std::size_t borders_;
  plain_array<std::uint32_t, plus(Stages, 2)> height_;
  plain_array<std::uint32_t, capacity> below_, points_; // by level and border, by level and number
};

} // namespace cairn::detail
