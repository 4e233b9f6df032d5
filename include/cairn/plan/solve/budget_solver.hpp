// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/partial_schedule.hpp>
#include <cairn/plan/solve/recurrence.hpp>
#include <cairn/plan/solve/sampled_front.hpp>
#include <cairn/plan/solve/segment.hpp>
#include <cairn/plan/solve/subproblem_table.hpp>

namespace cairn::detail {

// The most units of a segment (checkpoint_grid.hpp), and the samples of a front: the more there is to do, the fewer a compiler
// can afford. Copies are not solved again, so a chain that repeats a few stages can have more units, if it is not so long that
// the segments that begin with it are many.
constexpr std::size_t units_for(const entry* entries, std::size_t stages) {
  if (stages <= 20) return stages + 1;
  return stages <= 128 && find_repetition(entries, stages).different(stages) <= 20 ? 20 : 12;
}
constexpr std::size_t samples_for(std::size_t problems) {
  return problems <= 400 ? 64 : problems <= 1200 ? 48 : problems <= 1400 ? 32 : 24;
}
inline constexpr std::size_t partial_kinds = 17;
// For a longer chain a compiler could not plan the schedules of the very least bytes, which run each stage hundreds of times.
constexpr bool solves_beginnings(std::size_t stages) { return stages <= 150; }

// The number of cost units of a whole step, about: a compiler adds small numbers faster, as it stores each only once.
inline constexpr std::uint64_t cost_units = 131072;

template <std::size_t Stages>
constexpr cost_table<Stages> in_cost_units(cost_table<Stages> table) {
  std::uint64_t sum = 0;
  for (const entry& e : table) sum += e.cost.forward + e.cost.backward;
  const std::uint64_t unit = sum / cost_units + 1;
  const auto rounded = [unit](std::uint64_t cost) { return (cost + unit / 2) / unit; };
  for (entry& e : table) e.cost = {rounded(e.cost.forward), rounded(e.cost.tape), rounded(e.cost.backward)};
  return table;
}

// The subproblems of a chain in batches, and the place of each result: number / in_batch is its batch, number % in_batch its
// index among the batch's fronts or units.
inline constexpr std::size_t in_batch = 32;
template <std::size_t Problems, std::size_t Places>
struct subproblem_list {
  subproblem of[Problems]{};
  std::uint32_t at[Places]{};
  std::uint32_t units[Problems / in_batch + 1]{}; // of each batch
};

// The results of one batch.
template <std::size_t Samples>
struct batch_view {
  const sampled_front<Samples>* fronts = nullptr;
  const partial_schedules<partial_kinds>* units = nullptr;
};

// A chain solved for a budget in constant expressions, one for each batch of subproblems, so that none is too long for a
// compiler. `Source::value` is the chain.
template <class Source, std::size_t Budget>
struct budget_solver {
  static constexpr chain whole = Source::value;
  static constexpr std::size_t stages = whole.size();
  static constexpr auto table = in_cost_units<stages>(cost_table_of<stages>(whole));
  static constexpr divisions<stages> ways{table, stages, units_for(table.items, stages), solves_beginnings(stages)};
  static constexpr subproblem_table<stages> problems{ways};
  static constexpr std::size_t problem_count = [] {
    std::size_t count = 0;
    problems.each([&](const subproblem&) { ++count; });
    return count;
  }();
  static constexpr auto list = [] {
    subproblem_list<problem_count, problems.places()> out{};
    std::size_t count = 0;
    problems.each([&](const subproblem& j) {
      std::uint32_t& units = out.units[count / in_batch];
      out.at[problems.place_of(j)] =
          static_cast<std::uint32_t>(j.level == 0 ? count - units : count / in_batch * in_batch + units);
      if (j.level != 0) ++units;
      out.of[count++] = j;
    });
    return out;
  }();

  static constexpr std::size_t sample_count = samples_for(problem_count);
  static constexpr budget_samples scale{.budget = static_cast<std::int64_t>(Budget), .count = sample_count};
  using front = sampled_front<sample_count>;
  using view = batch_view<sample_count>;

  struct finder {
    const view* batches; // those that are done
    std::size_t count;
    view now; // the one in progress

    constexpr const front& operator()(const segment& s) const {
      const std::size_t number = list.at[problems.place_of(s)];
      return batch(number / in_batch).fronts[number % in_batch];
    }
    constexpr const partial_schedules<partial_kinds>& partials_of(const chain_unit& u) const {
      const std::size_t number = list.at[problems.place_of(u)];
      return batch(number / in_batch).units[number % in_batch];
    }
    constexpr const view& batch(std::size_t number) const { return number < count ? batches[number] : now; }
  };

  template <std::size_t Fronts, std::size_t Units>
  struct solved {
    front fronts[Fronts + 1]{};
    partial_schedules<partial_kinds> units[Units + 1]{};
  };
  template <std::size_t Number>
  static constexpr auto solve(const view* earlier) {
    constexpr std::size_t begin = Number * in_batch, end = begin + in_batch < problem_count ? begin + in_batch : problem_count;
    constexpr std::size_t units = list.units[Number];
    solved<end - begin - units, units> out{};
    const finder find{earlier, Number, {out.fronts, out.units}};
    for (std::size_t k = begin, next = 0; k < end; ++k) {
      const subproblem& j = list.of[k];
      if (j.level != 0) {
        solve_unit(ways, j.as_unit(), Budget, find, out.units[k - begin - next]);
      } else {
        front now{scale};
        solve_segment(ways, j.of, find, now);
        out.fronts[next++] = now;
      }
    }
    return out;
  }
};

// The first `Count` batches.
template <class Of, std::size_t Count>
struct batches {
  using view = typename Of::view;
  static constexpr auto last = Of::template solve<Count - 1>(batches<Of, Count - 1>::at);
  struct list {
    view at[Count]{};
  };
  static constexpr list views = [] {
    list l{};
    for (std::size_t i = 0; i + 1 < Count; ++i) l.at[i] = batches<Of, Count - 1>::at[i];
    l.at[Count - 1] = {last.fronts, last.units};
    return l;
  }();
  static constexpr const view* at = views.at;
};
template <class Of>
struct batches<Of, 0> {
  static constexpr const typename Of::view* at = nullptr;
};

// The solution of a whole chain.
template <class Source, std::size_t Budget>
struct budget_solution : budget_solver<Source, Budget> {
  using base = budget_solver<Source, Budget>;
  static constexpr std::size_t count = (base::problem_count + in_batch - 1) / in_batch;

  // Starts with the first batch: otherwise each would be evaluated inside the next, too deep for a long chain.
  template <std::size_t... Number>
  static constexpr const typename base::view* solve_all(std::index_sequence<Number...>) {
    const typename base::view* const each[]{batches<base, Number + 1>::at...};
    return each[count - 1];
  }
  static constexpr typename base::finder find{solve_all(std::make_index_sequence<count>{}), count, {}};
  static constexpr const typename base::front& front = find({0, base::stages, {}});

  static constexpr need write(std::size_t within, route& out) { return write_route(base::ways, find, within, out); }
};

} // namespace cairn::detail
