// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cairn/core/plain_array.hpp>
#include <cairn/plan/route.hpp>
#include <cairn/plan/solve/cost_table.hpp>
#include <cairn/plan/solve/grouping.hpp>
#include <cairn/plan/solve/pareto_front.hpp>
#include <cairn/plan/solve/recurrence.hpp>
#include <cairn/plan/solve/stretch.hpp>

namespace cairn {

// How much of a curve is solved, and how exactly.
struct curve_limits {
  std::size_t most = static_cast<std::size_t>(-1); // bytes: schedules that need more are left out
  bool exact = false;                              // every point there is, in whatever time and memory that takes
  // Called now and then while it is solved, with the share that is done: 0 to 1.
  std::function<void(double)> progress{};
};

// Solves a chain when the program runs: the whole curve of cost against memory at once, in exact bytes. Every stretch of
// the chain has the Pareto front of its ways, and longer stretches join those of shorter ones; stretches of equal stages
// are solved once. In a chain of more than 32 stages, of ways whose bytes are within 1 % of each other only the cheapest
// is kept, and one of more than 128 stages is cut into groups (grouping.hpp); unless the curve is to be exact.
//
// Searched are the schedules that store what they store until its backward (stretch.hpp). The curve begins at the least
// bytes that one of these needs.
class solver {
public:
  // What a schedule on the curve needs: the most bytes that live while it runs, and what it costs.
  struct point {
    std::size_t bytes = 0;
    std::uint64_t cost = 0;
  };

  // Costs are FLOPs for one sample, or those given, one for each stage, in any unit.
  explicit solver(const chain& c, std::span<const stage_cost> costs = {}, const curve_limits& limits = {})
      : chain_(c), table_(detail::cost_table_of<detail::at_run_time>(c, costs)),
        groups_(table_, c.size(), limits.exact ? 1 : detail::group_length(table_.items, c.size(), 2'500'000, 24)),
        ways_(table_, c.size(), groups_) {
    solve(limits);
  }
  solver(const solver&) = delete;
  solver& operator=(const solver&) = delete;

  // The curve, from the least memory to the least cost; never empty, unless all of it is above `most`.
  std::size_t size() const { return points_.size(); }
  const point& operator[](std::size_t i) const { return points_[i]; }

  // The last point of at most so many bytes: size() if there is none.
  std::size_t within(std::size_t bytes) const {
    std::size_t i = size();
    for (std::size_t k = 0; k < size() && points_[k].bytes <= bytes; ++k) i = k;
    return i;
  }

  // The route of point i.
  std::vector<route_step> route_of(std::size_t i) const {
    route counted{chain_};
    detail::write_route(ways_, finder{*this}, chain_.size(), points_[i].bytes, counted);
    std::vector<route_step> steps(counted.size());
    route written{chain_, steps.data()};
    detail::write_route(ways_, finder{*this}, chain_.size(), points_[i].bytes, written);
    return steps;
  }

private:
  // The front of a stretch, or of the one that it is a copy of.
  struct finder {
    const solver& of;
    detail::front_view operator()(std::size_t first, std::size_t last, std::size_t how) const {
      const std::size_t back = of.groups_.repeats.steps_back(first, last);
      const auto found = of.fronts_.find(of.key(first - back, last - back, how));
      return {found->second.data(), found->second.size()};
    }
  };

  std::size_t key(std::size_t first, std::size_t last, std::size_t how) const {
    return (first * (chain_.size() + 1) + last) * detail::standings + how;
  }

  void solve(const curve_limits& limits) {
    const std::size_t stages = chain_.size();
    detail::pareto_front front(limits.most, limits.exact || stages <= 32 ? -1 : stages <= 300 ? 7 : 6);
    const finder find{*this};
    double done = 0;
    for (std::size_t length = 1; length <= stages + 1; ++length) {
      for (std::size_t first = 0; first + length <= stages + 1; ++first) {
        if (groups_.repeats.steps_back(first, first + length - 1) != 0) continue;
        for (std::size_t how = 0; how < detail::standings; ++how) {
          const detail::stretch s{first, first + length - 1, detail::standing_of(how)};
          if (!ways_.is_asked_for(s)) continue;
          detail::solve_stretch(ways_, s, find, front);
          const detail::front_view found = front.view();
          fronts_.emplace(key(s.first, s.last, how), std::vector<detail::way>(found.ways, found.ways + found.count));
        }
      }
      done += static_cast<double>(length * (stages + 2 - length)); // as many splits
      const double all = static_cast<double>((stages + 1) * (stages + 2)) * static_cast<double>(stages + 3) / 6;
      if (limits.progress) limits.progress(done / all);
    }
    // What a way of the front costs when it is written: at most what the front says.
    const detail::front_view whole = find(0, stages, 0);
    for (std::size_t i = 0; i < whole.count; ++i) {
      route counted{chain_};
      const detail::need own = detail::write_route(ways_, find, stages, whole.ways[i].bytes, counted);
      if (points_.empty() || own.cost < points_.back().cost) points_.push_back({whole.ways[i].bytes, own.cost});
    }
  }

  chain chain_;
  detail::cost_table<detail::at_run_time> table_;
  detail::grouping<detail::at_run_time> groups_;
  detail::divisions<detail::at_run_time> ways_;
  std::unordered_map<std::size_t, std::vector<detail::way>> fronts_;
  std::vector<point> points_;
};

} // namespace cairn
