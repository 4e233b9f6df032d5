// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
};

namespace detail {

struct no_progress {
  void operator()(double) const {}
};

} // namespace detail

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

  // Costs are FLOPs for one sample, or those given, one for each stage, in any unit. progress(share) is called now and
  // then with the share that is done, from 0 to 1.
  template <class Progress = detail::no_progress>
  explicit solver(const chain& c, std::span<const stage_cost> costs = {}, const curve_limits& limits = {},
                  Progress&& progress = {})
      : chain_(c), table_(detail::cost_table_of<detail::at_run_time>(c, costs)),
        groups_(table_, c.size(), limits.exact ? 1 : detail::group_length(table_.items, c.size(), 2'500'000, 24)),
        ways_(table_, c.size(), groups_) {
    solve(limits, progress);
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
  template <class Steps = std::vector<route_step>>
  Steps route_of(std::size_t i) const {
    const auto write = [&](auto find, route out) {
      detail::write_route(ways_, find, chain_.size(), points_[i].bytes, out);
      return out.size();
    };
    Steps steps(write(finder{*this}, route{chain_}));
    write(finder{*this}, route{chain_, steps.data()});
    return steps;
  }

private:
  // The fronts of the stretches that begin with one stage, in the order of `of`: their last stage and standing.
  struct solved {
    std::size_t of = 0;
    std::vector<detail::way> front;
  };
  // The front of a stretch, or of the one that it is a copy of.
  struct finder {
    const solver& whole;
    detail::front_view operator()(std::size_t first, std::size_t last, std::size_t how) const {
      const std::size_t back = whole.groups_.repeats.steps_back(first, last);
      const std::vector<solved>& row = whole.fronts_[first - back];
      const std::size_t wanted = (last - back) * detail::standings + how;
      std::size_t begin = 0;
      for (std::size_t end = row.size(); begin < end;) { // the first that is not less
        const std::size_t middle = (begin + end) / 2;
        if (row[middle].of < wanted) begin = middle + 1;
        else end = middle;
      }
      return {row[begin].front.data(), row[begin].front.size()};
    }
  };

  template <class Progress>
  void solve(const curve_limits& limits, Progress& progress) {
    const std::size_t stages = chain_.size();
    fronts_.resize(stages + 1);
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
          fronts_[first].push_back({s.last * detail::standings + how, {found.ways, found.ways + found.count}});
        }
      }
      done += static_cast<double>(length * (stages + 2 - length)); // as many splits
      const double all = static_cast<double>((stages + 1) * (stages + 2)) * static_cast<double>(stages + 3) / 6;
      progress(done / all);
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
  std::vector<std::vector<solved>> fronts_; // by the first stage
  std::vector<point> points_;
};

} // namespace cairn
