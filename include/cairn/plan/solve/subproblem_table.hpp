// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/partial_schedule.hpp>
#include <cairn/plan/solve/segment.hpp>

namespace cairn::detail {

// One subproblem of the dynamic program: a segment; or, if its level is not 0, the unit of that level with these stages.
struct subproblem {
  segment of{};
  std::size_t level = 0;

  constexpr chain_unit as_unit() const { return {of.first, of.last + 1, level, of.how.owns}; }
};

// All subproblems of a chain, each after those that it needs, without copies of something further below. Interior segments come
// by their level and their number of units, each level's units before its segments; then come those that begin with the chain,
// by their length. Every segment and unit has a place: a number that is found without a search.
template <std::size_t Stages>
class subproblem_table {
public:
  constexpr explicit subproblem_table(const divisions<Stages>& ways)
      : ways_(ways), stages_(ways.stages()), own_(ways.grid.levels * (stages_ + 2)), copy_(ways.grid.levels * (stages_ + 2)) {
    const auto& grid = ways.grid;
    std::uint32_t row = static_cast<std::uint32_t>(segment_states * (stages_ + 1) + 2 * grid.levels);
    for (std::size_t level = 0; level < grid.levels; ++level)
      for (std::size_t k = 1; k + 1 < grid.points(level); ++k) {
        const std::size_t at = level * (stages_ + 2), first = grid.point(level, k);
        if (has_own(level, k)) {
          own_.items[at + first] = row;
          row += static_cast<std::uint32_t>(segment_states * grid.most + 2);
        }
        copy_.items[at + first] = own_.items[at + first - grid.steps_back(first, first, level)];
      }
    places_ = row;
  }

  constexpr std::size_t places() const { return places_; }

  constexpr std::size_t place_of(const segment& s) const {
    if (s.first == 0) return segment_states * s.last + s.how.index();
    const std::uint32_t* below = counts_;
    const std::uint32_t* row = (s.last < copied_ ? copy_ : own_).items + s.first;
    for (; below[s.last + 1] - below[s.first] > most_; below += stages_ + 2) row += stages_ + 2;
    return *row + segment_states * (below[s.last + 1] - below[s.first] - 1) + s.how.index();
  }
  constexpr std::size_t place_of(const chain_unit& u) const {
    const std::size_t owns = u.owns ? 1 : 0;
    if (u.first == 0) return segment_states * (stages_ + 1) + 2 * u.level + owns;
    return (u.end <= copied_ ? copy_ : own_).items[u.level * (stages_ + 2) + u.first] + segment_states * most_ + owns;
  }
  constexpr std::size_t place_of(const subproblem& j) const { return j.level == 0 ? place_of(j.of) : place_of(j.as_unit()); }

  // Calls visit(subproblem) for all of them.
  template <class Visit>
  constexpr void each(Visit visit) const {
    const auto& grid = ways_.grid;
    for (std::size_t level = 0; level < grid.levels; ++level)
      for (std::size_t units = level == 0 ? 1 : 0; units <= grid.most; ++units)
        for (std::size_t k = 1; k + (units == 0 ? 1 : units) < grid.points(level); ++k) {
          const std::size_t first = grid.point(level, k);
          if (own_.items[level * (stages_ + 2) + first] == 0) continue;
          const std::size_t end = grid.point(level, k + (units == 0 ? 1 : units));
          if (units == 0 && end > stages_) continue; // nothing is above it
          if (grid.steps_back(first, end - 1, level) != 0) continue;
          if (units != 0 && level != 0 && grid.units(level - 1, first, end) <= grid.most) continue; // belongs to a lower level
          add({first, end - 1, {}}, units == 0 ? level : 0, visit);
        }
    for (std::size_t end = 1; end <= stages_ + 1; ++end) {
      if (grid.solves(0, end)) add({0, end - 1, {}}, 0, visit);
      for (std::size_t level = 1; level < grid.levels; ++level)
        if (grid.point(level, 1) == end && end <= stages_) add({0, end - 1, {}}, level, visit);
    }
  }

private:
  // Does one of the segments that begin with a point have no copy further below?
  constexpr bool has_own(std::size_t level, std::size_t k) const {
    const auto& grid = ways_.grid;
    const std::size_t longest = k + grid.most < grid.points(level) ? k + grid.most : grid.points(level) - 1;
    return grid.steps_back(grid.point(level, k), grid.point(level, longest) - 1, level) == 0;
  }
  template <class Visit>
  constexpr void add(segment s, std::size_t level, Visit& visit) const {
    for (std::size_t how = 0; how < segment_states; ++how) {
      s.how = segment_state_of(how);
      if (ways_.is_asked_for(s) && !(level != 0 && s.how.kept)) visit(subproblem{s, level});
    }
  }

  const divisions<Stages>& ways_;
  std::size_t stages_;
  const std::uint32_t* counts_ = ways_.grid.counts();
  std::size_t most_ = ways_.grid.most, copied_ = ways_.grid.last_copy();
  std::size_t places_ = 0;
  // By level and first stage: the place of a segment of 0 units, of those that are no copies and of those that are.
  plain_array<std::uint32_t, checkpoint_grid<Stages>::capacity> own_, copy_;
};

} // namespace cairn::detail
