// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/plain_array.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/plan_route.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/run_time_plan.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/pareto_front.hpp>
#include <cairn/plan/solve/partial_schedule.hpp>
#include <cairn/plan/solve/recurrence.hpp>
#include <cairn/plan/solve/segment.hpp>
#include <cairn/plan/solve/subproblem_table.hpp>

namespace cairn::plan {

// The extent and the accuracy of a curve to solve.
struct curve_limits {
  std::size_t most = static_cast<std::size_t>(-1); // bytes: schedules that need more are left out
  bool exact = false;                              // every point there is, however much time and memory that takes
};

} // namespace cairn::plan

namespace cairn::detail {

struct no_progress {
  void operator()(double) const {}
};

// The most units of a segment (checkpoint_grid.hpp): all stages, if the whole chain can be solved in a second or so.
inline std::size_t units_at_run_time(const cost_table<at_run_time>& table, std::size_t stages, bool exact) {
  const std::size_t different = find_repetition(table.items, stages).different(stages);
  return exact || different * stages * stages <= 2'500'000 ? stages + 1 : 32;
}

} // namespace cairn::detail

namespace cairn::plan {

// The map of plan/solve/. A schedule of least cost within a budget of bytes is found by a dynamic program over the segments of
// a chain. cost_table.hpp holds bytes and costs of each stage; segment.hpp the recurrence: where a segment is split, at which
// checkpoint, and what that needs. The optimum of a segment is a Pareto front of bytes and cost: exact at run time
// (pareto_front.hpp), sampled below one budget in the compiler (sampled_front.hpp). Long chains restrict where segments end to a
// grid of good checkpoints (checkpoint_grid.hpp), and cross a unit of it by one of its partial schedules (partial_schedule.hpp).
// subproblem_table.hpp orders the segments and finds equal ones, recurrence.hpp joins their fronts and traces the schedule back.
// Two programs run that: solver, here, and the constants of budget_solver.hpp for the policies of budget.hpp.

// Solves a chain at run time: the whole curve of cost against memory at once, in exact bytes. Unless the curve is to be exact,
// long chains are simplified: with more than 32 stages, of schedules whose bytes are within 1 % of each other only the cheapest
// is kept; with more than about 128 stages that differ, only segments of the grid are solved. The search covers the schedules
// that keep each stored item until its backward (segment.hpp). The curve begins at the least bytes that one of these needs.
class solver {
public:
  // A schedule on the curve: the most bytes alive while it runs, and its cost.
  struct point {
    std::size_t bytes = 0;
    std::uint64_t cost = 0;
  };

  // Costs are FLOPs for one sample, or `costs`, one for each stage, in any unit. progress(share) is called now and then with
  // the share that is done, from 0 to 1.
  template <class Progress = detail::no_progress>
  explicit solver(const chain& c, std::span<const stage_cost> costs = {}, const curve_limits& limits = {},
                  Progress&& progress = {})
      : solver(limits, c, detail::cost_table_of<detail::at_run_time>(c, checked(costs, c.size()))) {
    solve(limits, progress);
  }
  solver(const solver&) = delete;
  solver& operator=(const solver&) = delete;

  // The curve, from the least memory to the least cost; never empty, unless all of it is above `most`.
  std::size_t size() const { return points_.size(); }
  const point& operator[](std::size_t i) const { return points_[i]; }

  // The last point of at most `bytes`: size() if there is none.
  std::size_t within(std::size_t bytes) const {
    std::size_t i = size();
    for (std::size_t k = 0; k < size() && points_[k].bytes <= bytes; ++k) i = k;
    return i;
  }

  // The route of point i.
  template <class Steps = std::vector<route_step>>
  Steps route_of(std::size_t i) const {
    const auto write = [&](auto find, route out) {
      detail::write_route(ways_, find, points_[i].bytes, out);
      return out.size();
    };
    Steps steps(write(finder{*this}, route{chain_}));
    write(finder{*this}, route{chain_, steps.data()});
    return steps;
  }

private:
  static constexpr std::size_t kinds = 65; // of partial schedules
  static std::span<const stage_cost> checked(std::span<const stage_cost> costs, std::size_t stages) {
    if (!costs.empty() && costs.size() != stages)
      throw input_error("solver: expected a cost for each of " + std::to_string(stages) + " stages, found " +
                        std::to_string(costs.size()) + "; measured_costs gives them");
    return costs;
  }
  struct finder {
    const solver& whole;
    detail::front_view operator()(const detail::segment& s) const {
      const std::vector<detail::front_point>& front = whole.fronts_[whole.at_[whole.problems_.place_of(s)]];
      return {front.data(), front.size()};
    }
    const detail::partial_schedules<kinds>& partials_of(const detail::chain_unit& u) const {
      return whole.units_[whole.at_[whole.problems_.place_of(u)]];
    }
  };

  solver(const curve_limits& limits, const chain& c, const detail::cost_table<detail::at_run_time>& table)
      : chain_(c), ways_(table, c.size(), detail::units_at_run_time(table, c.size(), limits.exact)), problems_(ways_) {}

  template <class Progress>
  void solve(const curve_limits& limits, Progress& progress) {
    const std::size_t stages = chain_.size();
    at_.resize(problems_.places());
    detail::pareto_front front(limits.most, limits.exact || stages <= 32 ? -1 : ways_.grid.levels == 1 ? 7 : 8);
    const finder find{*this};
    const auto splits = [&](const detail::subproblem& j) { // approximately
      const std::size_t length = j.of.last + 1 - j.of.first, most = 2 * ways_.grid.most;
      return static_cast<double>(length < most ? length : most);
    };
    double done = 0, all = 0, told = 0;
    problems_.each([&](const detail::subproblem& j) { all += splits(j); });
    problems_.each([&](const detail::subproblem& j) {
      if (j.level != 0) {
        at_[problems_.place_of(j)] = static_cast<std::uint32_t>(units_.size());
        detail::partial_schedules<kinds> found{};
        detail::solve_unit(ways_, j.as_unit(), limits.most, find, found);
        units_.push_back(found);
      } else {
        detail::solve_segment(ways_, j.of, find, front);
        at_[problems_.place_of(j)] = static_cast<std::uint32_t>(fronts_.size());
        const detail::front_view found = front.view();
        fronts_.emplace_back(found.ways, found.ways + found.count);
      }
      done += splits(j);
      if (done < told + all / 1000 && done < all) return;
      progress(done / all);
      told = done;
    });
    // A way of the front costs at most what the front says. Writing it gives its real cost.
    const detail::front_view whole = find({0, stages, {}});
    for (std::size_t i = 0; i < whole.count; ++i) {
      route counted{chain_};
      const detail::need own = detail::write_route(ways_, find, whole.ways[i].bytes, counted);
      if (points_.empty() || own.cost < points_.back().cost) points_.push_back({whole.ways[i].bytes, own.cost});
    }
  }

  chain chain_;
  detail::divisions<detail::at_run_time> ways_;
  detail::subproblem_table<detail::at_run_time> problems_;
  std::vector<std::uint32_t> at_; // by place: the number among the fronts, or among the units
  std::vector<std::vector<detail::front_point>> fronts_;
  std::vector<detail::partial_schedules<kinds>> units_;
  std::vector<point> points_;
};

// The cheapest schedule of a solved chain whose arena, as it is laid out, has at most `bytes`. If there is none, throws an
// error that states the least possible number: of all schedules of a short chain, else of those that are solved.
template <class = void> // compiled by programs that call it
detail::run_time_plan plan_within(const chain& c, const solver& solved, std::size_t bytes) {
  const std::size_t best = solved.within(bytes);
  for (std::size_t i = best == solved.size() ? 0 : best + 1; i-- > 0;) {
    detail::run_time_plan found = detail::plan_route(c, solved.route_of(i));
    if (found.memory.arena > bytes) continue;
    if (solved[best].cost > 0) found.over_best = static_cast<double>(solved[i].cost) / static_cast<double>(solved[best].cost);
    return found;
  }
  std::size_t least = solved.size() == 0 ? 0 : static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < solved.size() && solved[i].bytes < least; ++i) {
    const std::size_t arena = detail::plan_route(c, solved.route_of(i)).memory.arena;
    if (arena < least) least = arena;
  }
  const auto text = [](std::size_t number) {
    return std::to_string(number) + " bytes (" + std::to_string(number / 1024 + (number % 1024 == 0 ? 0 : 1)) + " KiB)";
  };
  throw input_error("budget: expected a budget of at least " + text(least) +
                    ", the least that any schedule of this network needs, found " + text(bytes) +
                    "; give it more, or take a smaller batch");
}

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template void solver::solve(const curve_limits&, detail::no_progress&);
CAIRN_COMPILED template detail::run_time_plan plan_within(const chain&, const solver&, std::size_t);
#endif

} // namespace cairn::plan
