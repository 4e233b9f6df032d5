// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/solve/passage.hpp>
#include <cairn/plan/solve/stretch.hpp>

namespace cairn::detail {

// One piece of a solver's work: a stretch; or, if its level is not 0, the unit of that level with these stages.
struct job {
  stretch of{};
  std::size_t level = 0;

  constexpr chain_unit as_unit() const { return {of.first, of.last + 1, level, of.how.owns}; }
};

// All jobs of a chain, each after those that it needs, without copies of something further below. Interior stretches come by
// their level and their number of units, each level's units before its stretches. Then come those that begin with the chain, by
// their length.
//
// Every stretch and unit also has a place: a number that is found without a search.
template <std::size_t Stages>
class catalogue {
public:
  constexpr explicit catalogue(const divisions<Stages>& ways)
      : ways_(ways), stages_(ways.stages()), own_(ways.along.levels * (stages_ + 2)), copy_(ways.along.levels * (stages_ + 2)) {
    const auto& along = ways.along;
    std::uint32_t row = static_cast<std::uint32_t>(standings * (stages_ + 1) + 2 * along.levels);
    for (std::size_t level = 0; level < along.levels; ++level)
      for (std::size_t k = 1; k + 1 < along.ticks(level); ++k) {
        const std::size_t at = level * (stages_ + 2), first = along.tick(level, k);
        if (has_own(level, k)) {
          own_.items[at + first] = row;
          row += static_cast<std::uint32_t>(standings * along.most + 2);
        }
        copy_.items[at + first] = own_.items[at + first - along.steps_back(first, first, level)];
      }
    places_ = row;
  }

  constexpr std::size_t places() const { return places_; }

  constexpr std::size_t place_of(const stretch& s) const {
    if (s.first == 0) return standings * s.last + s.how.index();
    const std::uint32_t* below = counts_;
    const std::uint32_t* row = (s.last < copied_ ? copy_ : own_).items + s.first;
    for (; below[s.last + 1] - below[s.first] > most_; below += stages_ + 2) row += stages_ + 2;
    return *row + standings * (below[s.last + 1] - below[s.first] - 1) + s.how.index();
  }
  constexpr std::size_t place_of(const chain_unit& u) const {
    const std::size_t owns = u.owns ? 1 : 0;
    if (u.first == 0) return standings * (stages_ + 1) + 2 * u.level + owns;
    return (u.end <= copied_ ? copy_ : own_).items[u.level * (stages_ + 2) + u.first] + standings * most_ + owns;
  }
  constexpr std::size_t place_of(const job& j) const { return j.level == 0 ? place_of(j.of) : place_of(j.as_unit()); }

  // Calls visit(job) for all of them.
  template <class Visit>
  constexpr void each(Visit visit) const {
    const auto& along = ways_.along;
    for (std::size_t level = 0; level < along.levels; ++level)
      for (std::size_t units = level == 0 ? 1 : 0; units <= along.most; ++units)
        for (std::size_t k = 1; k + (units == 0 ? 1 : units) < along.ticks(level); ++k) {
          const std::size_t first = along.tick(level, k);
          if (own_.items[level * (stages_ + 2) + first] == 0) continue;
          const std::size_t end = along.tick(level, k + (units == 0 ? 1 : units));
          if (units == 0 && end > stages_) continue; // nothing is above it
          if (along.steps_back(first, end - 1, level) != 0) continue;
          if (units != 0 && level != 0 && along.units(level - 1, first, end) <= along.most) continue; // belongs to a lower level
          add({first, end - 1, {}}, units == 0 ? level : 0, visit);
        }
    for (std::size_t end = 1; end <= stages_ + 1; ++end) {
      if (along.solves(0, end)) add({0, end - 1, {}}, 0, visit);
      for (std::size_t level = 1; level < along.levels; ++level)
        if (along.tick(level, 1) == end && end <= stages_) add({0, end - 1, {}}, level, visit);
    }
  }

private:
  // Does one of the stretches that begin with a tick have no copy further below?
  constexpr bool has_own(std::size_t level, std::size_t k) const {
    const auto& along = ways_.along;
    const std::size_t longest = k + along.most < along.ticks(level) ? k + along.most : along.ticks(level) - 1;
    return along.steps_back(along.tick(level, k), along.tick(level, longest) - 1, level) == 0;
  }
  template <class Visit>
  constexpr void add(stretch s, std::size_t level, Visit& visit) const {
    for (std::size_t how = 0; how < standings; ++how) {
      s.how = standing_of(how);
      if (ways_.is_asked_for(s) && !(level != 0 && s.how.kept)) visit(job{s, level});
    }
  }

  const divisions<Stages>& ways_;
  std::size_t stages_;
  const std::uint32_t* counts_ = ways_.along.counts();
  std::size_t most_ = ways_.along.most, copied_ = ways_.along.last_copy();
  std::size_t places_ = 0;
  // By level and first stage: the place of a stretch of 0 units, of those that are no copies and of those that are.
  plain_array<std::uint32_t, ruler<Stages>::capacity> own_, copy_;
};

} // namespace cairn::detail
