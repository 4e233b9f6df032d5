// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/grouping.hpp>
#include <cairn/plan/solve/marked_front.hpp>
#include <cairn/plan/solve/recurrence.hpp>
#include <cairn/plan/solve/stretch.hpp>

namespace cairn::detail {

// The fronts of the stretches of one length: the place of each by its number among them and its standing.
template <std::size_t Marks>
struct length_view {
  const marked_front<Marks>* fronts = nullptr;
  const std::uint16_t* places = nullptr;
};

// The more stages, the fewer marks and groups the compiler can afford.
constexpr std::size_t marks_for(std::size_t stages) {
  return stages <= 16 ? 64 : stages <= 32 ? 48 : stages <= 64 ? 32 : 24;
}
constexpr std::size_t groups_for(std::size_t stages) { return stages <= 128 ? 8 : 17; }
inline constexpr std::size_t whole_steps = 36'000; // see group_length: those of 32 stages that differ

// Costs in units of which a whole step has about this many: a compiler adds small numbers faster, as it stores each only
// once.
inline constexpr std::uint64_t cost_units = 16384;

template <std::size_t Stages>
constexpr cost_table<Stages> in_cost_units(cost_table<Stages> table) {
  std::uint64_t sum = 0;
  for (const entry& e : table) sum += e.cost.forward + e.cost.backward;
  const std::uint64_t unit = sum / cost_units + 1;
  const auto rounded = [unit](std::uint64_t cost) { return (cost + unit / 2) / unit; };
  for (entry& e : table) e.cost = {rounded(e.cost.forward), rounded(e.cost.tape), rounded(e.cost.backward)};
  return table;
}

// A chain solved for a budget in constant expressions, one for each length of stretch, so that none is too long for a
// compiler. `Source::value` is the chain.
template <class Source, std::size_t Budget>
struct budget_solver {
  static constexpr chain whole = Source::value;
  static constexpr std::size_t stages = whole.size();
  static constexpr auto table = in_cost_units<stages>(cost_table_of<stages>(whole));
  static constexpr grouping<stages> groups{table, stages,
                                           group_length(table.items, stages, whole_steps, groups_for(stages))};
  static constexpr divisions<stages> ways{table, stages, groups};
  static constexpr repetition repeats = groups.repeats;
  static constexpr std::size_t mark_count = marks_for(stages);
  static constexpr marks scale{.budget = static_cast<std::int64_t>(Budget), .count = mark_count};
  using front = marked_front<mark_count>;
  using view = length_view<mark_count>;

  // Stretches that are no copies: those that begin below `copies`, and those that end behind the repetition.
  static constexpr std::size_t copies = repeats.period == 0 ? stages + 1 : repeats.copies();
  static constexpr std::size_t behind(std::size_t length) { // the first of the latter
    return repeats.end < copies + length ? copies : repeats.end - length + 1;
  }
  static constexpr std::size_t firsts(std::size_t length) { // of both
    const std::size_t all = stages + 2 - length;
    return all <= copies ? all : copies + all - behind(length);
  }
  static constexpr std::size_t first_of(std::size_t number, std::size_t length) {
    return number < copies ? number : number - copies + behind(length);
  }
  static constexpr std::size_t number_of(std::size_t first, std::size_t last) {
    if constexpr (repeats.period == 0) return first;
    const std::size_t number = first - repeats.steps_back(first, last);
    return number < copies ? number : number - behind(last - first + 1) + copies;
  }

  struct finder {
    const view* lengths;

    constexpr const front& operator()(std::size_t first, std::size_t last, std::size_t how) const {
      const view& v = lengths[last - first];
      return v.fronts[v.places[number_of(first, last) * standings + how]];
    }
  };

  static constexpr std::size_t count_fronts(std::size_t length) {
    std::size_t count = 0;
    for (std::size_t k = 0, end = firsts(length); k < end; ++k)
      for (std::size_t how = 0, first = first_of(k, length); how < standings; ++how)
        count += ways.is_asked_for({first, first + length - 1, standing_of(how)}) ? 1 : 0;
    return count;
  }

  template <std::size_t Fronts, std::size_t Firsts>
  struct solved {
    front fronts[Fronts == 0 ? 1 : Fronts]{};
    std::uint16_t places[Firsts * standings]{};
  };
  template <std::size_t Length>
  static constexpr auto solve(const view* shorter) {
    solved<count_fronts(Length), firsts(Length)> out{};
    const finder find{shorter};
    std::uint16_t next = 0;
    for (std::size_t k = 0, end = firsts(Length); k < end; ++k)
      for (std::size_t how = 0, first = first_of(k, Length); how < standings; ++how) {
        const stretch s{first, first + Length - 1, standing_of(how)};
        if (!ways.is_asked_for(s)) continue;
        front now{scale};
        solve_stretch(ways, s, find, now);
        out.fronts[next] = now;
        out.places[k * standings + how] = next++;
      }
    return out;
  }
};

// All stretches of up to so many stages.
template <class Of, std::size_t Length>
struct lengths_up_to {
  using view = typename Of::view;
  static constexpr auto longest = Of::template solve<Length>(lengths_up_to<Of, Length - 1>::at);
  struct list {
    view at[Length]{};
  };
  static constexpr list views = [] {
    list l{};
    for (std::size_t i = 0; i + 1 < Length; ++i) l.at[i] = lengths_up_to<Of, Length - 1>::at[i];
    l.at[Length - 1] = {longest.fronts, longest.places};
    return l;
  }();
  static constexpr const view* at = views.at;
};
template <class Of>
struct lengths_up_to<Of, 0> {
  static constexpr const typename Of::view* at = nullptr;
};

// The ways of a whole chain.
template <class Source, std::size_t Budget>
struct budget_solution : budget_solver<Source, Budget> {
  using base = budget_solver<Source, Budget>;

  // From the shortest up: else each would be evaluated inside the next, too deep for a long chain.
  template <std::size_t... Length>
  static constexpr const typename base::view* solve_all(std::index_sequence<Length...>) {
    const typename base::view* const each[]{lengths_up_to<base, Length>::at...};
    return each[sizeof...(Length) - 1];
  }
  static constexpr typename base::finder find{solve_all(std::make_index_sequence<base::stages + 2>{})};
  static constexpr const typename base::front& front = find(0, base::stages, 0);

  static constexpr need write(std::size_t within, route& out) {
    return write_route<base::stages>(base::ways, find, base::stages, within, out);
  }
};

} // namespace cairn::detail
